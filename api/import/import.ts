import Joi from 'joi'
import { statusOfWork } from '../../jobs/rules/jobs/job-state.ts'
import { bool, listOf, shape, uuidReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findImport } from '../../sql/import/imports.ts'
import type { ImportRow } from '../../sql/import/imports.ts'
import type { ApiContext } from '../context.ts'
import { notFound } from '../errors.ts'
import { nullable, projectField, times } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { findWritableProject, maySeeWork, readableProjects, writableProject } from '../projects.ts'

const statuses = ['queued', 'running', 'succeeded', 'capped', 'canceled', 'failed'] as const
const count = Joi.number().integer().required()

export const importBody = Joi.object({
  id: Joi.string().guid().required(),
  import_id: Joi.string().guid().required().description('The same as `id`'),
  job_id: Joi.string().guid().required(),
  project_id: nullable(Joi.string().guid()).description(
    'Null for a dry run into a project that did not exist',
  ),
  status: Joi.string()
    .valid(...statuses)
    .required(),
  source: Joi.string().required().description('Format asked for or found'),
  agent_name: nullable(Joi.string()),
  dry_run: Joi.boolean().required(),
  connection: nullable(
    Joi.object({
      base_url: Joi.string().required(),
      project: Joi.string().required(),
      workspace: nullable(Joi.string()),
      since: times.required(),
      until: times.required(),
    }).label('ImportConnection'),
  ).description('What is pulled from another platform, without its keys; null for an upload'),
  imported_count: count.description('Traces that were new'),
  skipped_count: count.description('Traces that the project had already'),
  error_count: count.description('Records that could not be imported'),
  scores_imported: count,
  losses: Joi.object()
    .pattern(Joi.string(), Joi.number().integer())
    .required()
    .description('What could not be kept, by word: how many times'),
  capped_at_line: nullable(Joi.number().integer()).description('Where a quota stopped the import'),
  incomplete_trace_ids: listOf(Joi.string())
    .required()
    .description(
      'Traces of which parts are missing, at most 1,000: of a file that broke off, or begun before the range that was pulled. Delete them before all of them is imported, because traces that are there are skipped',
    ),
  progress: Joi.object({
    bytes: count.description('Of the file as it was sent, or of what a platform answered'),
    bytes_total: nullable(Joi.number().integer()).description(
      'Null for what is pulled: nobody knows before its end',
    ),
    lines: count.description('Lines, or records where they are not one a line'),
    note: nullable(Joi.string()).description(
      'Of a pull: the day that is read, and how long the platform is waited for',
    ),
  })
    .required()
    .label('ImportProgress'),
  error: nullable(
    Joi.object({ code: Joi.string().required(), message: Joi.string().required() }).label(
      'ImportFailure',
    ),
  ).description(
    'Why the import failed: its file could not be read to the end, or its platform. While it is tried again, why the last try failed',
  ),
  created_at: times.required(),
  started_at: nullable(times),
  finished_at: nullable(times),
}).label('Import')

/** What may be asked of an import, wherever its records come from. */
export const importOptions = {
  project: projectField,
  agent_name: Joi.string()
    .max(256)
    .pattern(/^[^\p{Cc}\p{Cs}]+$/u, 'printable characters')
    .description('For records that name no agent'),
  dry_run: bool()
    .default(false)
    .description('Read and check everything, count what is new, store no trace and no score'),
}

export const importPath = shape({ import_id: uuidReference() })

/** An import as clients see it. */
export function viewImport(row: ImportRow) {
  return {
    id: row.id,
    import_id: row.id,
    job_id: row.job_id,
    project_id: row.project_id,
    status: statusOf(row),
    source: row.source,
    agent_name: row.agent_name,
    dry_run: row.dry_run,
    connection: row.connection,
    imported_count: row.imported_count,
    skipped_count: row.skipped_count,
    error_count: row.error_count,
    scores_imported: row.scores_imported,
    losses: row.losses,
    capped_at_line: row.capped_at_line,
    incomplete_trace_ids: row.incomplete_trace_ids,
    progress: {
      bytes: row.bytes_done,
      bytes_total: row.bytes_total,
      lines: row.lines_done,
      note: row.progress_note,
    },
    error: row.error && { code: row.error.code, message: row.error.message },
    created_at: row.created_at,
    started_at: row.started_at,
    finished_at: row.finished_at,
  }
}

/** The project of an import. A dry run creates none, and belongs to none where the import would. */
export async function findImportProject(
  sql: Queryable,
  principal: Principal,
  { project, dry_run }: { readonly project?: string | undefined; readonly dry_run: boolean },
) {
  const find = dry_run ? findWritableProject : writableProject
  return (await find(sql, principal, project))?.id ?? null
}

/** @throws ApiError 404 for an import that does not exist and for one the caller may not see, alike */
export async function findVisibleImport({ sql }: ApiContext, principal: Principal, id: string) {
  const row = await findImport(sql, principal.orgId, id)
  const visible = await readableProjects(sql, principal, undefined)
  if (!row || !maySeeWork(visible, row, principal)) throw notFound('Import')
  return row
}

function statusOf({ state, capped_at_line }: ImportRow): (typeof statuses)[number] {
  if (state === 'succeeded' && capped_at_line !== null) return 'capped'
  return statusOfWork(state)
}
