import type { RestoredTrace } from '../../jobs/rules/import/backup/restored-content.ts'
import { createHash } from 'node:crypto'
import { copyRows, openRowWriter } from '../core/copy-rows.ts'
import type { CopyRows } from '../core/copy-rows.ts'
import type { Transaction } from '../core/db.ts'
import { freeDroppedIds } from '../traces/periods.ts'
import {
  INSERTED,
  joinNamedManifest,
  tiedColumn,
  TRACE_COLUMNS,
  TRACE_TYPES,
} from '../traces/trace-inserts.ts'
import type { InsertedTrace } from '../traces/trace-inserts.ts'

/** What a trace of a backup has beside the columns that every trace is inserted with. */
const KEPT_TYPES = {
  created_at: 'timestamptz',
  is_imported: 'bool',
  revision: 'int4',
  made_of_spans: 'bool',
  settles_at: 'timestamptz',
} as const satisfies Partial<Record<keyof RestoredTrace, string>>
const KEPT_COLUMNS = Object.keys(KEPT_TYPES) as (keyof typeof KEPT_TYPES)[]

/** Encodes traces for `copyRestoredTraces`. Apart from it, so that another thread can do it. */
export function openTraceEncoder(orgId: string) {
  const writer = openRowWriter()
  return {
    add(project: string, row: RestoredTrace) {
      writer.row([
        ['uuid', orgId],
        ['uuid', NO_PROJECT],
        ['text', project],
        ...TRACE_COLUMNS.map((column) => [TRACE_TYPES[column], row[column]] as const),
        ...KEPT_COLUMNS.map((column) => [KEPT_TYPES[column], row[column]] as const),
      ])
    },
    take: (): CopyRows => writer.take(),
  }
}

/**
 * Inserts encoded traces `from` to `to`, exclusive, as they were in the backup, but for those whose project
 * has their id already, each tied to the manifest that it names.
 * @param projects id by name; traces of others are not inserted
 */
export async function copyRestoredTraces(
  tx: Transaction,
  projects: ReadonlyMap<string, string>,
  rows: CopyRows,
  from: number,
  to: number,
): Promise<readonly InsertedTrace[]> {
  // As `copyTraces`: contents that fit into a page are not stored apart.
  await tx`
    create temporary table if not exists ${tx(STAGED)}
      (like traces including defaults including storage, project text)
      with (toast_tuple_target = 8160) on commit delete rows`
  if (from > 0) await tx`truncate ${tx(STAGED)}`
  await copyRows(tx, STAGED, STAGED_COLUMNS, rows, from, to)
  const named = [[...projects.keys()], [...projects.values()]]
  const insert = () => tx.unsafe<InsertedTrace[]>(INSERT_STAGED, named)
  const inserted = await insert()
  if (inserted.length === to - from) return inserted
  const { count } = await tx.unsafe(FREE_IDS, named)
  return count === 0 ? inserted : [...inserted, ...(await insert())]
}

/** Stands for the project until its name is looked up: the staged table takes no null. */
const NO_PROJECT = '00000000-0000-0000-0000-000000000000'
const STAGED_COLUMNS = ['org_id', 'project_id', 'project', ...TRACE_COLUMNS, ...KEPT_COLUMNS]
/** Its name contains its columns, as that of the table for imported traces does. */
const STAGED = `traces_restored_${createHash('sha256').update(STAGED_COLUMNS.join()).digest('hex').slice(0, 8)}`
const NAMED = `(
  select s.org_id, p.id as project_id, ${[...TRACE_COLUMNS, ...KEPT_COLUMNS].map((name) => `s.${name}`).join()}
  from ${STAGED} s join unnest($1::text[], $2::uuid[]) as p (name, id) on p.name = s.project) t`
const FREE_IDS = freeDroppedIds(NAMED)
/** The id of a manifest that is not there is left out: the hash names it all the same. */
const columnOf = (name: string) => (name === 'metadata' ? 't.metadata' : tiedColumn(name))
const INSERT_STAGED = `
  with new as (
    insert into trace_ids (org_id, project_id, trace_id, period)
    select org_id, project_id, trace_id, (select storing_period()) from ${NAMED}
    order by project_id, trace_id collate "C"
    on conflict (org_id, project_id, trace_id) do nothing
    returning project_id, trace_id
  )
  insert into traces (org_id, project_id, ${[...TRACE_COLUMNS, ...KEPT_COLUMNS].join()}, period, restored_at)
  select t.org_id, t.project_id, ${[...TRACE_COLUMNS, ...KEPT_COLUMNS].map(columnOf).join()},
    (select storing_period()), now()
  from ${NAMED} ${joinNamedManifest}
  where ((t.project_id, t.trace_id) in (select project_id, trace_id from new)) is true
  on conflict do nothing
  returning ${INSERTED}`
