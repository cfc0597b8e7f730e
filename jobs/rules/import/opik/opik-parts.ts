import { isObject } from '../../core/reader.ts'
import { instantOf, readTime } from '../foreign/foreign-time.ts'
import type { Loss, Members, Part, ReadParts, Refusal, SpanScore } from '../format.ts'
import { fingerprint } from '../format.ts'
import { asId } from '../foreign/members-left.ts'
import { mergedRecord } from '../foreign/merged-record.ts'
import { partsById } from '../foreign/parts-by-id.ts'

/** Whether a record is a body of scores, which has no other member. */
export function holdsOpikScores(record: Members) {
  const { scores, ...others } = record
  return (
    Object.keys(others).length === 0 &&
    Array.isArray(scores) &&
    scores.some((score: unknown) => isObject(score) && 'id' in score && 'name' in score)
  )
}

/** Whether a record is a file of a trace and its spans, as `opik export` writes them. */
export function isExport({ trace, spans }: Members) {
  return isObject(trace) && typeof trace['id'] === 'string' && Array.isArray(spans)
}

/**
 * The trace or the span that a record holds, and the scores in it, or its scores alone; of a file of
 * `opik export` the trace with all its spans. Scores are parts of their own, because a trace that is known
 * already takes nothing else.
 */
export function opikParts(record: Members): ReadParts | Refusal {
  if (holdsOpikScores(record)) return pushedParts(record['scores'] as readonly unknown[])
  return isExport(record) ? exportedParts(record) : partsOf(record)
}

function exportedParts(record: Members): ReadParts | Refusal {
  const trace = record['trace'] as Members
  const project_name = record['project_name'] ?? trace['project_name']
  const read = partsOf({ ...trace, project_name })
  if ('code' in read) return read
  const parts = [...read.parts]
  const losses: Loss[] = []
  for (const [i, span] of (record['spans'] as readonly unknown[]).entries()) {
    const told = isObject(span)
      ? partsOf({ ...span, trace_id: span['trace_id'] ?? trace['id'] })
      : NAMELESS
    if ('code' in told) {
      losses.push({ code: 'member_invalid', message: `spans.${i}: ${told.message}` })
    } else for (const part of told.parts) parts.push(part)
  }
  const { attachments } = record
  for (const _ of Array.isArray(attachments) ? attachments : []) losses.push(ATTACHMENT)
  return { parts, losses }
}

function partsOf(record: Members): ReadParts | Refusal {
  const id = asId(record['id'])
  const isSpan = record['trace_id'] !== undefined && record['trace_id'] !== null
  const trace_id = isSpan ? asId(record['trace_id']) : id
  if (id === null || trace_id === null) return NAMELESS
  const kind = isSpan ? 'span' : 'trace'
  const { feedback_scores: scores, ...value } = record
  if (!Array.isArray(scores)) return { parts: [{ trace_id, kind, id, value: record }], losses: [] }
  if (scores.length > MAX_SCORES) return TOO_MANY
  const told = scores.map((score: unknown) => toldScore(trace_id, id, score))
  return { parts: [{ trace_id, kind, id, value }, ...told], losses: [] }
}

/** Whether what a score's part tells was found in its trace or span, rather than pushed. */
export function isToldInside({ feedback_scores: scores }: Members) {
  return Array.isArray(scores)
}

/** What the parts of one kind tell, a record a thing, in the order of their ids. */
export function mergedOpik(parts: readonly Part[], kind: Part['kind']): Members[] {
  return [...partsById(parts, kind).values()].map((told) =>
    mergedRecord(told.map(({ value }) => ({ record: value, at: toldAt(value), rank: 0 }))),
  )
}

/** A score as the trace or span tells it that it was found in, which has one score of a name. */
function toldScore(trace_id: string, of: string, score: unknown): Part {
  const { name = score, last_updated_at } = isObject(score) ? score : {}
  const value = { id: of, last_updated_at, feedback_scores: [score] }
  return { trace_id, kind: 'score', id: `${of}:told:${fingerprint(name)}`, value }
}

/** A score names a trace or a span by one member; which of the two, only the path of the request said. */
function pushedParts(scores: readonly unknown[]): ReadParts | Refusal {
  if (scores.length > MAX_SCORES) return TOO_MANY
  const parts: Part[] = []
  const spanScores: SpanScore[] = []
  const losses: Loss[] = []
  for (const [i, score] of scores.entries()) {
    const of = isObject(score) ? asId(score['id']) : null
    if (!isObject(score) || of === null) {
      const message = `scores.${i} names no trace and no span (id)`
      losses.push({ code: 'member_invalid', message })
      continue
    }
    const trace_id = asId(score['trace_id'])
    const id = `${of}:${fingerprint([score['name'], score['created_by']])}`
    const read = { kind: 'score', id, value: score } as const
    if (trace_id) parts.push({ ...read, trace_id })
    else spanScores.push({ ...read, trace_id: null, span_id: of })
  }
  return { parts, spanScores, losses }
}

/** What was told later has been updated later, or has ended. */
function toldAt(record: Members) {
  const time = readTime(record['last_updated_at']) ?? readTime(record['end_time'])
  return time ? instantOf(time) : ''
}

const MAX_SCORES = 100_000
const TOO_MANY = {
  code: 'too_many_scores',
  message: `The record holds more than ${MAX_SCORES} scores`,
}
const ATTACHMENT: Loss = { code: 'attachment_dropped', message: 'An attachment was left out' }
const NAMELESS = {
  code: 'invalid_record',
  message: 'id and, of a span, trace_id must be 1 to 128 printable characters',
}
