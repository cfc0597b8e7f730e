import type { Settling, TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { arrayText } from '../core/array-text.ts'
import type { Transaction } from '../core/db.ts'
import { columnArrays, ROW_COLUMNS, selectTied } from './trace-inserts.ts'
import type { TraceKey } from './traces.ts'

/** What a stored trace says; the content stays closed. */
export type StoredTraceRow = TraceKey & Omit<TraceRow, 'content'> & Settling & { revision: number }

/** What it is to say from now on. Without `content` it keeps its own. */
export type RevisedTraceRow = Omit<TraceRow, 'content'> & { content?: Buffer }

/** A trace that was changed, with the manifest it was tied to. */
export type RevisedTrace = TraceKey & Pick<TraceRow, 'manifest_id'>

/**
 * Reads those of the traces that are there, in the order of their keys. Nobody changes, judges or
 * deletes them before the transaction ends.
 */
export async function lockStoredTraces(tx: Transaction, keys: readonly TraceKey[]) {
  const columns = [
    keys.map(({ org_id }) => org_id),
    keys.map(({ project_id }) => project_id),
    keys.map(({ trace_id }) => trace_id),
  ]
  return tx.unsafe<StoredTraceRow[]>(LOCK, columns.map(arrayText), { prepare: true })
}

/**
 * Writes traces that the transaction has locked, each tied to the manifest it names as a new one is, and
 * counts their revisions up. What ingest alone says of a trace stays: when it came, and whether from a file.
 */
export async function updateTraces(tx: Transaction, rows: readonly (TraceKey & RevisedTraceRow)[]) {
  return tx.unsafe<RevisedTrace[]>(UPDATE, columnArrays(rows), { prepare: true })
}

const OPEN_COLUMNS = ROW_COLUMNS.filter((name) => name !== 'content')
const SET = ROW_COLUMNS.filter((name) => name !== 'trace_id').map((name) =>
  name === 'content' ? 'content = coalesce(n.content, t.content)' : `${name} = n.${name}`,
)
/** In the order in which judgement locks traces, so that the two never wait for each other. */
const LOCK = `
  select t.org_id, t.project_id, t.revision, ${OPEN_COLUMNS.map((name) => `t.${name}`).join()}
  from unnest($1::text::uuid[], $2::text::uuid[], $3::text::text[]) as k (org_id, project_id, trace_id)
  join trace_ids using (org_id, project_id, trace_id)
  join traces t using (org_id, project_id, period, trace_id)
  order by t.org_id, t.project_id, t.trace_id for no key update of t`
const UPDATE = `
  with tied as (${selectTied})
  update traces t set ${SET.join()}, revision = t.revision + 1
  from tied n join trace_ids k using (org_id, project_id, trace_id)
  where t.org_id = n.org_id and t.project_id = n.project_id and t.period = k.period
    and t.trace_id = n.trace_id
  returning t.org_id, t.project_id, t.trace_id, t.manifest_id`
