import type { FormatName } from '../../jobs/rules/import/detect.ts'
import type { Connection, PlatformName } from '../../jobs/rules/import/platforms.ts'
import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import type { Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { isVisibleWork } from '../core/projects.ts'
import type { VisibleWork } from '../core/projects.ts'
import { insertImportErrors, MAX_ERRORS_KEPT } from './import-errors.ts'
import type { ImportError } from './import-errors.ts'

/** An import with the state of its job. */
export interface ImportRow {
  org_id: string
  /** Null for a dry run into a project that did not exist. */
  project_id: string | null
  id: string
  job_id: string
  /** The format asked for, or found; `auto` until one is found, `backup` for a restore. */
  source: FormatName | 'auto' | 'backup'
  agent_name: string | null
  dry_run: boolean
  /** What is pulled and from where; null for an upload. */
  connection: PulledRange | null
  /** Where the upload is; null once it is deleted, and where there is none. */
  storage_key: string | null
  /** Of the upload; null where there is none. */
  bytes_total: number | null
  bytes_done: number
  lines_done: number
  imported_count: number
  skipped_count: number
  error_count: number
  scores_imported: number
  /** What could not be kept, by word: how many times. */
  losses: Record<string, number>
  capped_at_line: number | null
  /** Traces of a file that broke off of which parts are missing, at most 1,000. */
  incomplete_trace_ids: string[]
  created_at: Date
  state: JobState
  started_at: Date | null
  finished_at: Date | null
  /** Of the last try. */
  error: { code: string; message: string } | null
  progress_note: string | null
  /** The key that asked for it. */
  created_by: string | null
}

/** A range of time of a project of another platform. */
export interface PulledRange extends Connection {
  /** RFC 3339; records from then on, up to and without `until`. */
  readonly since: string
  readonly until: string
}

/** An import that pulls from a platform. */
export type PulledImport = ImportRow & {
  readonly source: PlatformName
  readonly connection: PulledRange
}

export function isPulled(item: ImportRow): item is PulledImport {
  return item.connection !== null
}

export type NewImport = Pick<
  ImportRow,
  | 'org_id'
  | 'project_id'
  | 'id'
  | 'job_id'
  | 'source'
  | 'agent_name'
  | 'dry_run'
  | 'connection'
  | 'storage_key'
  | 'bytes_total'
  | 'created_at'
>

/**
 * Its job must exist. The caller gives the time, to the millisecond, because cursors of lists contain
 * it.
 */
export async function insertImport(sql: Queryable, row: NewImport) {
  await sql`
    insert into imports (org_id, project_id, id, job_id, source, agent_name, dry_run, connection,
      storage_key, bytes_total, created_at)
    values (${row.org_id}, ${row.project_id}, ${row.id}, ${row.job_id}, ${row.source},
      ${row.agent_name}, ${row.dry_run}, ${row.connection && jsonText(row.connection)}::text::jsonb,
      ${row.storage_key}, ${row.bytes_total}, ${row.created_at})`
}

export async function findImport(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<ImportRow[]>`
    select ${columns(sql)} from ${joined(sql)} where i.org_id = ${orgId} and i.id = ${id}`
  return row
}

export type ImportFilter = VisibleWork

/** Newest first. */
export async function listImports(
  sql: Queryable,
  orgId: string,
  filter: ImportFilter,
  page: { limit: number; offset: number; before?: AgeKey | undefined },
) {
  return sql<ImportRow[]>`
    select ${columns(sql)} from ${joined(sql)}
    where ${matching(sql, orgId, filter)}
      ${isOlder(sql, sql`(i.created_at, i.id)`, page.before)}
    order by i.created_at desc, i.id desc
    limit ${page.limit} offset ${page.offset}`
}

/** How many imports match, counted no further than `limit`. */
export async function countImports(
  sql: Queryable,
  orgId: string,
  filter: ImportFilter,
  limit: number,
) {
  return countUpTo(sql, limit, sql`${joined(sql)} where ${matching(sql, orgId, filter)}`)
}

export interface ImportStep {
  /** The detected format, when the request named none. */
  source: FormatName | undefined
  /** Undefined where none was read. */
  bytes_done: number | undefined
  lines_done: number
  imported: number
  skipped: number
  errors: readonly ImportError[]
  scores: number
  losses: Readonly<Record<string, number>>
  /** The line at which the quota ended the import. */
  cappedAtLine: number | undefined
  /** Traces that were stored although parts of them are missing. */
  incompleteTraceIds: readonly string[]
}

/** Adds what a chunk brought, and keeps its errors as long as there are not too many. */
export async function addImportStep(sql: Queryable, orgId: string, id: string, step: ImportStep) {
  const [row] = await sql<{ error_count: number }[]>`
    update imports set
      source = case when source = 'auto' then coalesce(${step.source ?? null}, source) else source end,
      bytes_done = coalesce(${step.bytes_done ?? null}, bytes_done), lines_done = ${step.lines_done},
      imported_count = imported_count + ${step.imported},
      skipped_count = skipped_count + ${step.skipped},
      error_count = error_count + ${step.errors.length},
      scores_imported = scores_imported + ${step.scores},
      losses = ${addedLosses(sql, step.losses)},
      capped_at_line = least(capped_at_line, ${step.cappedAtLine ?? null}),
      incomplete_trace_ids =
        (incomplete_trace_ids || ${step.incompleteTraceIds}::text[])[1:${MAX_INCOMPLETE_KEPT}]
    where org_id = ${orgId} and id = ${id}
    returning error_count`
  if (step.errors.length > 0 && (row?.error_count ?? 0) <= MAX_ERRORS_KEPT) {
    await insertImportErrors(sql, orgId, id, step.errors)
  }
}

/** The losses of an import with further ones. */
function addedLosses(sql: Queryable, further: ImportStep['losses']) {
  if (Object.keys(further).length === 0) return sql`losses`
  return sql`(
    select jsonb_object_agg(code, n) from (
      select key as code, sum(value::bigint) as n from (
        select * from jsonb_each_text(losses)
        union all select * from jsonb_each_text(${jsonText(further)}::text::jsonb)) as told
      group by key) as summed)`
}

/** Notes that the upload is deleted. */
export async function forgetUpload(sql: Queryable, orgId: string, id: string) {
  await sql`update imports set storage_key = null where org_id = ${orgId} and id = ${id}`
}

/** The same where nobody will read it again. False when the import was retried meanwhile. */
export async function forgetLeftUpload(sql: Queryable, orgId: string, id: string) {
  const { count } = await sql`
    with left_job as (
      select j.id from ${joined(sql)} where i.org_id = ${orgId} and i.id = ${id} and ${isLeft(sql)}
      for update of j
    )
    update imports set storage_key = null
    where org_id = ${orgId} and id = ${id} and exists (select from left_job)`
  return count === 1
}

/**
 * Uploads that nobody will read again although they are still there: their jobs were canceled before
 * they ran, or failed and were not retried for a week.
 */
export async function listLeftUploads(sql: Queryable, orgId: string, limit: number) {
  return sql<{ id: string; storage_key: string }[]>`
    select i.id, i.storage_key from ${joined(sql)}
    where i.org_id = ${orgId} and i.storage_key is not null and ${isLeft(sql)}
    limit ${limit}`
}

/** The condition that an import with job `j` will not go on: it ended, or failed and was not retried for a week. */
export function isLeft(sql: Queryable) {
  return sql`(j.state in ('succeeded', 'canceled')
    or j.state = 'failed' and j.finished_at < now() - interval '7 days')`
}

function joined(sql: Queryable) {
  return sql`imports i join jobs j on j.org_id = i.org_id and j.id = i.job_id`
}

function matching(sql: Queryable, orgId: string, filter: ImportFilter) {
  return sql`i.org_id = ${orgId} ${isVisibleWork(sql, filter)}`
}

function columns(sql: Queryable) {
  return sql`i.org_id, i.project_id, i.id, i.job_id, i.source, i.agent_name, i.dry_run, i.connection,
    i.storage_key, i.bytes_total, i.bytes_done, i.lines_done, i.imported_count, i.skipped_count, i.error_count,
    i.scores_imported, i.losses, i.capped_at_line, i.incomplete_trace_ids, i.created_at, j.state, j.started_at, j.finished_at, j.error,
    j.progress_note, j.created_by`
}

const MAX_INCOMPLETE_KEPT = 1000
