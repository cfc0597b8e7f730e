import { isClientId } from '../../core/reader.ts'
import { fingerprint } from '../format.ts'
import type { Loss, Members, Part, PartsFormat, ReadParts, Refusal } from '../format.ts'
import { annotationIn, annotationsIn, holdsAnnotations, latestOf } from './phoenix-annotations.ts'
import { annotationScore } from '../attributes/openinference-annotations.ts'
import { mapPhoenixSpan, phoenixIds } from './phoenix-span.ts'

/**
 * Phoenix: spans as its REST API and its downloads write them, one a record, their annotations inside
 * of them or as records of their own.
 */
export const phoenix: PartsFormat = {
  matches: (record) => isAnnotation(record) || isClientId(phoenixIds(record).traceId),
  read: (record) => (isAnnotation(record) ? readAnnotation(record) : readSpan(record)),
  holdsScores: holdsAnnotations,
  assemble(parts) {
    const known = inOrder(parts)
    const spans = known
      .filter(({ kind }) => kind === 'span')
      .map(({ id, value }) => mapPhoenixSpan(id, value))
    const annotations = known.flatMap(({ kind, id, value }) =>
      kind === 'span' ? annotationsIn(value, id) : [annotationIn(value, null)],
    )
    const losses: Loss[] = spans.flatMap((span) => span.losses)
    const told = latestOf(annotations).flatMap((each) => annotationScore(each, losses))
    return {
      spans: spans.map(({ mapped }) => mapped),
      told: {},
      scores: [...spans.flatMap(({ scores }) => scores), ...told],
      corrections: [],
      losses,
      origin: {},
    }
  },
}

function isAnnotation(record: Members) {
  return Object.hasOwn(record, 'annotator_kind')
}

function readSpan(record: Members): ReadParts | Refusal {
  const { traceId, spanId } = phoenixIds(record)
  if (!isClientId(traceId)) return noId('context.trace_id')
  if (!isClientId(spanId)) return noId('context.span_id')
  return { parts: [{ trace_id: traceId, kind: 'span', id: spanId, value: record }], losses: [] }
}

function noId(member: string): Refusal {
  return { code: 'invalid_record', message: `${member} must be 1 to 128 printable characters` }
}

/** An annotation may name its span alone. */
function readAnnotation(record: Members): ReadParts {
  const { trace_id, span_id } = record
  const score = { kind: 'score', id: annotationIn(record, null).id, value: record } as const
  if (isClientId(trace_id)) return { parts: [{ ...score, trace_id }], losses: [] }
  if (isClientId(span_id)) {
    return { parts: [], spanScores: [{ ...score, trace_id: null, span_id }], losses: [] }
  }
  return { parts: [], losses: [NAMELESS] }
}

/** Each part once, and in the same order however they came. */
function inOrder(parts: readonly Part[]): Part[] {
  const known = new Map(
    parts.map((part) => [JSON.stringify([part.kind, part.id, fingerprint(part.value)]), part]),
  )
  return [...known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part)
}

const NAMELESS: Loss = {
  code: 'score_without_trace',
  message: 'An annotation names no trace and no span',
}
