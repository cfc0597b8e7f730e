import { createHash } from 'node:crypto'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { copyRows, openRowWriter } from '../core/copy-rows.ts'
import type { CopyRows } from '../core/copy-rows.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { TRACE_COLUMNS, TRACE_TYPES } from './trace-inserts.ts'
import { ofTraces } from './traces.ts'

/** Encodes rows of `traces` for `copyTraces`. Apart from it, so that another thread can do it. */
export function encodeTraces(orgId: string, projectId: string, rows: Iterable<TraceRow>): CopyRows {
  const writer = openRowWriter()
  for (const row of rows) {
    writer.row([
      ['uuid', orgId],
      ['uuid', projectId],
      ...TRACE_COLUMNS.map((column) => [TRACE_TYPES[column], row[column]] as const),
    ])
  }
  return writer.take()
}

/**
 * Inserts rows `from` to `to`, exclusive, but for those whose id their project has already, and returns
 * the ids of the inserted. Many times faster than an insert of values. Ids go in the same order as in
 * `insertTraces`, so that two transactions that insert the same ones wait and do not deadlock.
 */
export async function copyTraces(tx: Transaction, rows: CopyRows, from: number, to: number) {
  await tx`
    create temporary table if not exists ${tx(STAGED)}
      (like traces including defaults including storage) on commit delete rows`
  // An earlier part of the same rows may have been staged in this transaction.
  if (from > 0) await tx`truncate ${tx(STAGED)}`
  await copyRows(tx, STAGED, COLUMNS, rows, from, to)
  const inserted = await tx<{ trace_id: string }[]>`
    insert into traces (${tx(COLUMNS)}) select ${tx(COLUMNS)} from ${tx(STAGED)}
    order by trace_id collate "C"
    on conflict (org_id, project_id, trace_id) do nothing
    returning trace_id`
  return inserted.map(({ trace_id }) => trace_id)
}

/** Which of these ids the project has already. */
export async function listKnownTraceIds(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const known = await sql<{ trace_id: string }[]>`
    select trace_id from traces where ${ofTraces(sql, orgId, projectId, traceIds)}`
  return new Set(known.map(({ trace_id }) => trace_id))
}

const COLUMNS = ['org_id', 'project_id', ...TRACE_COLUMNS]
/** Its name contains its columns: a session of a pooler, and this table with it, may outlive a release that adds one. */
const STAGED = `traces_staged_${createHash('sha256').update(COLUMNS.join()).digest('hex').slice(0, 8)}`
