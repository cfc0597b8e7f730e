import { isObject } from '../../core/reader.ts'
import type { Loss, Members, Part, ReadParts, Refusal } from '../format.ts'
import { fingerprint } from '../format.ts'
import {
  camelRow,
  isEvent,
  isObservationRow,
  isScoreRow,
  isSession,
  subjectOf,
} from './langfuse-rows.ts'
import { asId } from '../foreign/members-left.ts'

/**
 * The parts that a record of Langfuse stands for: a row or an event is one, a download, a page and a
 * batch are many, in which what is faulty is a loss of its own.
 */
export function langfuseParts(record: Members): ReadParts | Refusal {
  const many = itemsIn(record)
  if (many === undefined) return partOf({ row: record, kind: kindOf(record) })
  const read = many.map(partOf)
  const refused = read.filter((each) => 'code' in each)
  const [first] = refused
  if (first && refused.length === many.length) return first
  return {
    parts: read.flatMap((each) => ('code' in each ? [] : each.parts)),
    losses: read.flatMap((each) => ('code' in each ? [lossOf(each)] : each.losses)),
  }
}

/** Rows and events inside of a record; undefined for a record that is one itself. */
function itemsIn(record: Members): readonly Item[] | undefined {
  const { batch, data, observations } = record
  const rows = Array.isArray(batch) ? batch : isObject(record['meta']) ? data : undefined
  if (Array.isArray(rows)) return rows.filter(isObject).map((row) => ({ row, kind: kindOf(row) }))
  return Array.isArray(observations) ? downloadedIn(record) : undefined
}

/** `{trace, observations}`, or one trace that holds its observations; scores are beside or within it. */
function downloadedIn(record: Members): readonly Item[] {
  const trace = isObject(record['trace']) ? record['trace'] : record
  const { observations: _, scores: __, corrections: ___, ...row } = trace
  const listed = (name: string) => {
    const list = record[name] ?? trace[name]
    const rows: unknown[] = Array.isArray(list) ? list : []
    // A list of ids refers to records of their own.
    return rows.filter(isObject).map((each) => ({ traceId: row['id'], ...each }))
  }
  // Among the corrections those of type TEXT are corrections too.
  const corrections = listed('corrections').map((each) => ({ ...each, dataType: 'CORRECTION' }))
  return [
    { row, kind: 'trace' },
    ...listed('observations').map((each) => ({ row: each, kind: 'span' as const })),
    ...[...listed('scores'), ...corrections].map((each) => ({ row: each, kind: 'score' as const })),
  ]
}

function partOf({ row: given, kind }: Item): ReadParts | Refusal {
  if (kind === undefined) {
    const message = isSession(given)
      ? 'A session of Langfuse is no trace'
      : 'Only traces, observations and scores of Langfuse are read'
    return { code: 'invalid_record', message }
  }
  const row = camelRow(isEvent(given) ? (given['body'] as Members) : given)
  const trace_id = asId(kind === 'trace' ? row['id'] : (row['traceId'] ?? scoredTrace(row)))
  const id = asId(row['id']) ?? (kind === 'score' ? fingerprint(given) : null)
  if (trace_id !== null && id !== null) {
    return { parts: [{ trace_id, kind, id, value: given }], losses: [] }
  }
  if (kind === 'score') return withoutTrace(row)
  const name = `${isEvent(given) ? 'body.' : ''}${id === null ? 'id' : 'traceId'}`
  return { code: 'invalid_record', message: `${name} must be 1 to 128 printable characters` }
}

/** Scores of the API name what they are about in a member of its own. */
function scoredTrace({ subject }: Members): unknown {
  if (!isObject(subject)) return undefined
  return subject['kind'] === 'trace' ? subject['id'] : subject['traceId']
}

function kindOf(row: Members): Part['kind'] | undefined {
  if (isEvent(row)) {
    const subject = subjectOf(row)
    return subject === 'trace' || subject === 'score' ? subject : 'span'
  }
  if (isScoreRow(row)) return 'score'
  if (isObservationRow(row)) return 'span'
  const isOtherEvent = isObject(row['body'])
  return isSession(row) || isOtherEvent ? undefined : 'trace'
}

/** A score of a session or of a run over a dataset. */
function withoutTrace({ name }: Members): ReadParts {
  const message = `A score ${typeof name === 'string' ? name.slice(0, MAX_SHOWN) : ''} names no trace`
  return { parts: [], losses: [{ code: 'score_without_trace', message }] }
}

function lossOf({ message }: Refusal): Loss {
  return { code: 'member_invalid', message: `Something in the record was left out: ${message}` }
}

const MAX_SHOWN = 64

interface Item {
  readonly row: Members
  /** Undefined for what is about no trace. */
  readonly kind: Part['kind'] | undefined
}
