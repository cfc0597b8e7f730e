import Joi from 'joi'
import { statusOfWork } from '../../jobs/rules/jobs/job-state.ts'
import { listOf, shape, uuidReference } from '../../jobs/shape.ts'
import { findImport } from '../../sql/import/imports.ts'
import type { ImportRow } from '../../sql/import/imports.ts'
import type { ApiContext } from '../context.ts'
import { notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { maySeeWork, readableProjects } from '../projects.ts'

const statuses = ['queued', 'running', 'succeeded', 'capped', 'canceled', 'failed'] as const
const count = Joi.number().integer().required()

export const importBody = Joi.object({
  id: Joi.string().guid().required(),
  import_id: Joi.string().guid().required().description('The same as `id`'),
  job_id: Joi.string().guid().required(),
  project_id: nullable(Joi.string().guid())
    .required()
    .description('Null for a dry run into a project that did not exist'),
  status: Joi.string()
    .valid(...statuses)
    .required(),
  source: Joi.string().required().description('Format asked for or found'),
  agent_name: nullable(Joi.string()),
  dry_run: Joi.boolean().required(),
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
      'Traces of a file that broke off of which parts are missing, at most 1,000: delete them before the whole file is imported, because traces that are there are skipped',
    ),
  progress: Joi.object({
    bytes: count.description('Of the file as it was sent'),
    bytes_total: count,
    lines: count.description('Lines, or records where they are not one a line'),
  })
    .required()
    .label('ImportProgress'),
  error: nullable(
    Joi.object({ code: Joi.string().required(), message: Joi.string().required() }).label(
      'ImportFailure',
    ),
  ).description('Why the file could not be read, or not to its end'),
  created_at: times.required(),
  started_at: nullable(times),
  finished_at: nullable(times),
}).label('Import')

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
    imported_count: row.imported_count,
    skipped_count: row.skipped_count,
    error_count: row.error_count,
    scores_imported: row.scores_imported,
    losses: row.losses,
    capped_at_line: row.capped_at_line,
    incomplete_trace_ids: row.incomplete_trace_ids,
    progress: { bytes: row.bytes_done, bytes_total: row.bytes_total, lines: row.lines_done },
    error:
      row.state === 'failed' && row.error
        ? { code: row.error.code, message: row.error.message }
        : null,
    created_at: row.created_at,
    started_at: row.started_at,
    finished_at: row.finished_at,
  }
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
