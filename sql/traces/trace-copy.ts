import { createHash } from 'node:crypto'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { copyRows, openRowWriter } from '../core/copy-rows.ts'
import type { CopyRows } from '../core/copy-rows.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import {
  INSERTED,
  joinNamedManifest,
  tiedColumn,
  TRACE_COLUMNS,
  TRACE_TYPES,
} from './trace-inserts.ts'
import type { InsertedTrace } from './trace-inserts.ts'
import { freeDroppedIds } from './periods.ts'
import { ofTraces } from './traces.ts'

/**
 * Encodes rows of `traces` for `copyTraces`. Apart from it, so that another thread can do it.
 * @param memory as of `openRowWriter`
 */
export function openTraceWriter(orgId: string, projectId: string, memory?: ArrayBufferLike) {
  const writer = openRowWriter(memory)
  return {
    add(row: TraceRow) {
      writer.row([
        ['uuid', orgId],
        ['uuid', projectId],
        ...TRACE_COLUMNS.map((column) => [TRACE_TYPES[column], row[column]] as const),
      ])
    },
    take: writer.take,
  }
}

export function encodeTraces(
  orgId: string,
  projectId: string,
  rows: readonly TraceRow[],
): CopyRows {
  const bytes = rows.reduce((sum, { content }) => sum + content.length + OTHER_BYTES, 0)
  const writer = openTraceWriter(orgId, projectId, new ArrayBuffer(bytes))
  rows.forEach(writer.add)
  return writer.take()
}

export type CopiedTrace = InsertedTrace & {
  /** The id it names that is none of the manifests of its agent; null for none. */
  unknown_manifest_id: string | null
}

/**
 * Inserts encoded rows `from` to `to`, exclusive, which were read from a file, but for those whose id
 * their project has already, each tied to the manifest it names. Many times faster than an insert of
 * values. Ids go in the same order as in `insertTraces`, so that two transactions that insert the same
 * ones wait and do not deadlock.
 */
export async function copyTraces(tx: Transaction, rows: CopyRows, from: number, to: number) {
  // Contents that fit into a page are not stored apart, which `traces` does once more.
  await tx`
    create temporary table if not exists ${tx(STAGED)}
      (like traces including defaults including storage)
      with (toast_tuple_target = 8160) on commit delete rows`
  // An earlier part of the same rows may have been staged in this transaction.
  if (from > 0) await tx`truncate ${tx(STAGED)}`
  await copyRows(tx, STAGED, COLUMNS, rows, from, to)
  const insert = () => tx.unsafe<CopiedTrace[]>(INSERT_STAGED)
  const inserted = await insert()
  if (inserted.length === to - from) return inserted
  const { count } = await tx.unsafe(freeDroppedIds(STAGED))
  return count === 0 ? inserted : [...inserted, ...(await insert())]
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

/** About what a row takes beside its content. */
const OTHER_BYTES = 2 << 10
const COLUMNS = ['org_id', 'project_id', ...TRACE_COLUMNS]
/** Its name contains its columns: a session of a pooler, and this table with it, may outlive a release that adds one. */
const STAGED = `traces_staged_${createHash('sha256').update(COLUMNS.join()).digest('hex').slice(0, 8)}`
const INSERT_STAGED = `
  with new as (
    insert into trace_ids (org_id, project_id, trace_id, period)
    select org_id, project_id, trace_id, (select storing_period()) from ${STAGED}
    order by trace_id collate "C"
    on conflict (org_id, project_id, trace_id) do nothing
    returning trace_id
  ), inserted as (
    insert into traces (${COLUMNS.join()}, is_imported, period)
    select ${COLUMNS.map(tiedColumn).join()}, true, (select storing_period())
    from ${STAGED} t ${joinNamedManifest}
    where (t.trace_id in (select trace_id from new)) is true
    on conflict do nothing
    returning ${INSERTED}
  )
  select i.*,
    case when t.manifest_id is distinct from i.manifest_id then t.manifest_id end as unknown_manifest_id
  from inserted i join ${STAGED} t using (trace_id)`
