import { createHash } from 'node:crypto'
import { FORMAT_NAMES, formats, hasParts } from './detect.ts'
import type { FormatName } from './detect.ts'
import type { Assembled, Part } from './format.ts'

/** What the parts of one trace say, of whichever formats they are. */
export interface JoinedParts extends Assembled {
  /** The first of their formats, in the order of `FORMAT_NAMES`. */
  readonly source: FormatName
  /** For traces that name no agent, where the format itself says enough. */
  readonly agentName: string | undefined
}

/** Reads the parts of one trace, those of each format together. Undefined for none. */
export function joinFormats(
  parts: readonly { readonly format: FormatName; readonly part: Part }[],
): JoinedParts | undefined {
  const byFormat = Map.groupBy(parts, ({ format }) => format)
  let joined: JoinedParts | undefined
  for (const source of FORMAT_NAMES) {
    const format = formats[source]
    const own = byFormat.get(source)
    if (!own || !hasParts(format)) continue
    const assembled = format.assemble(own.map(({ part }) => part))
    const first = { ...assembled, source, agentName: format.agentName }
    joined = joined ? join(joined, assembled) : first
  }
  return joined
}

/** Whether a part of a format says something new of a trace that is there: it is a score, or holds some. */
export function tellsScores(name: FormatName, { kind, value }: Pick<Part, 'kind' | 'value'>) {
  if (kind === 'score') return true
  const format = formats[name]
  return hasParts(format) && (format.holdsScores?.(value) ?? false)
}

/** The id of the annotation that a correction becomes: the same whenever it is imported. */
export function annotationIdOf(source: FormatName, traceId: string, correctionId: string): string {
  const hash = createHash('sha256').update(JSON.stringify([source, traceId, correctionId]))
  const hex = hash.digest('hex')
  // Version 8 of UUIDs: made in a way of our own.
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}

/** What was read first goes before. */
function join(first: JoinedParts, second: Assembled): JoinedParts {
  return {
    ...first,
    spans: [...first.spans, ...second.spans],
    told: { ...second.told, ...first.told },
    scores: [...first.scores, ...second.scores],
    corrections: [...first.corrections, ...second.corrections],
    losses: [...first.losses, ...second.losses],
    origin: { ...second.origin, ...first.origin },
  }
}
