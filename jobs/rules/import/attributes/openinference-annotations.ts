import { isObject } from '../../core/reader.ts'
import type { Source } from '../../evals/score.ts'
import { takeList } from './flat-attributes.ts'
import type { FlatAttributes } from './flat-attributes.ts'
import { foreignScore } from '../foreign/foreign-score.ts'
import { parsedJson } from '../foreign/foreign-value.ts'
import type { Loss, Members } from '../format.ts'

/** One judgement of a span or a trace, as Phoenix and OpenInference both write it. */
export interface Annotation {
  /** Tells apart those of one name about one thing; text. */
  readonly id: string
  /** The platform that scores say they come from. */
  readonly platform: string
  /** Null when it is about the whole trace. */
  readonly spanId: string | null
  /** `{name, score, label, explanation, annotator_kind, metadata}`. */
  readonly said: Members
  /** When it was made or changed, RFC 3339; null where that is not told. */
  readonly at: string | null
}

/** The annotations told by a span's attributes, as scores of the span or of its trace. */
export function takeAnnotations(flat: FlatAttributes, spanId: string | null, losses: Loss[]) {
  return LISTS.flatMap(([list, item, isOfTrace]) =>
    (takeList(flat, list, losses) ?? []).flatMap((given) => {
      const said = isObject(given) && isObject(given[item]) ? given[item] : given
      const about = isOfTrace ? null : spanId
      if (isObject(said))
        return annotationScore({ ...TOLD, id: idOf(said, spanId), spanId: about, said }, losses)
      losses.push({ code: 'member_invalid', message: `${list} holds what is no annotation` })
      return []
    }),
  )
}

/** Whether an attribute holds annotations, or an item of a list of them. */
export function isAnnotationName(name: string) {
  return LISTS.some(([list]) => name === list || name.startsWith(`${list}.`))
}

/** The score that an annotation stands for; none when it says nothing. */
export function annotationScore(annotation: Annotation, losses: Loss[]): Members[] {
  const { id, platform, spanId, said, at } = annotation
  const { name, score, label, explanation, annotator_kind: kind } = said
  const result = score ?? label ?? explanation ?? null
  if (typeof name !== 'string' || name === '' || result === null) {
    losses.push({ code: 'member_invalid', message: 'An annotation has no name or no result' })
    return []
  }
  const read = foreignScore({
    platform,
    id,
    name,
    value: score,
    label,
    comment: explanation,
    spanId,
    source: SOURCES.get(kind) ?? 'external',
    metadata: parsedJson(said['metadata']),
    at,
  })
  for (const loss of read.losses) losses.push(loss)
  return [read.score]
}

/** The same whenever the annotation is told, wherever it stands in its list. */
function idOf({ name, identifier, annotator_kind: kind }: Members, spanId: string | null) {
  const words = [spanId, name, identifier, kind].map((word) =>
    typeof word === 'string' || typeof word === 'number' ? String(word) : '',
  )
  return words.join(':')
}

const TOLD = { platform: 'openinference', at: null }
/** Lists of attributes, what their items are called, and whether these are about the trace. */
const LISTS = [
  ['annotations', 'annotation', false],
  ['evaluations', 'evaluation', false],
  ['trace.annotations', 'annotation', true],
  ['trace.evaluations', 'evaluation', true],
] as const
const SOURCES = new Map<unknown, Source>([
  ['HUMAN', 'human'],
  ['LLM', 'llm_judge'],
  ['CODE', 'external'],
])
