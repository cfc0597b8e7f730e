import { isObject } from '../../core/reader.ts'
import { impliedGenAiType, mapGenAi, statedGenAiType } from '../attributes/gen-ai.ts'
import type { MappedGenAi } from '../attributes/gen-ai.ts'
import { evaluationScores } from '../attributes/gen-ai-evaluations.ts'
import type { SpanEvent } from '../attributes/gen-ai-events.ts'
import type { Members } from '../format.ts'
import { hasLangfuseAttributes, mapLangfuseAttributes } from '../attributes/langfuse-attributes.ts'
import { isOpenInference, mapOpenInference } from '../attributes/openinference.ts'
import type { MappedAttributes } from '../attributes/openinference.ts'
import { isVercelAi, mapVercelAi } from '../attributes/vercel-ai.ts'

/**
 * What the attributes and events of a span say, in whatever dialects they are written. A span may have
 * several: what the GenAI conventions tell holds, and what they do not tell is taken from the others.
 */
export function mapDialects(
  sent: Members,
  { spanId, events }: { readonly spanId: string; readonly events: readonly SpanEvent[] },
): MappedGenAi {
  const others: MappedAttributes[] = []
  let attributes = sent
  for (const { isSpoken, map } of DIALECTS) {
    if (!isSpoken(attributes)) continue
    const read = map(attributes, spanId)
    others.push(read)
    attributes = read.attributes
  }
  const type =
    statedGenAiType(sent) ??
    others.map(({ span_type }) => span_type).find((each) => each !== undefined) ??
    impliedGenAiType(sent, events)
  const own = mapGenAi(attributes, events, type)
  const losses = [...own.losses]
  const scores = evaluationScores(own.events, spanId, losses)
  return united([{ ...own, scores, losses }, ...others], own.events)
}

/** Of each member what the first dialect says that says it. The first one was read last: its attributes are what is left. */
function united(
  read: readonly [MappedAttributes, ...MappedAttributes[]],
  events: readonly SpanEvent[],
): MappedGenAi {
  const calls = read.flatMap(({ call }) => (call ? [call] : []))
  const usage = calls.map((call) => call['usage']).filter(isObject)
  const call = {
    ...(Object.assign({}, ...calls.toReversed()) as Members),
    ...(usage.length > 0 && { usage: usage.reduce(unitedUsage) }),
  }
  return {
    ...read[0],
    events,
    call: calls.length > 0 ? call : null,
    input_preview: firstGiven(read.map(({ input_preview }) => input_preview)),
    output_preview: firstGiven(read.map(({ output_preview }) => output_preview)),
    scores: read.flatMap(({ scores }) => scores),
    losses: read.flatMap(({ losses }) => losses),
  }
}

/** All counts of both, and of a count that both tell the first one's; those of details too. */
function unitedUsage(first: Members, other: Members): Members {
  const details = Object.entries(first).flatMap(([name, own]) => {
    const others = other[name]
    return isObject(own) && isObject(others) ? [[name, { ...others, ...own }] as const] : []
  })
  return { ...other, ...first, ...Object.fromEntries(details) }
}

function firstGiven(texts: readonly (string | null)[]) {
  return texts.find((text) => text !== null) ?? null
}

const DIALECTS: readonly Dialect[] = [
  { isSpoken: isOpenInference, map: mapOpenInference },
  { isSpoken: isVercelAi, map: mapVercelAi },
  { isSpoken: hasLangfuseAttributes, map: mapLangfuseAttributes },
]

interface Dialect {
  readonly isSpoken: (attributes: Members) => boolean
  readonly map: (attributes: Members, spanId: string) => MappedAttributes
}
