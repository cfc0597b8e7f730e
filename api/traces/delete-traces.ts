import Joi from 'joi'
import { deleteTraces as deleteJob } from '../../jobs/delete-traces.ts'
import { closed, shape } from '../../jobs/shape.ts'
import { JOB_STATES, statusOfWork } from '../../jobs/rules/jobs/job-state.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findCheckpoint, findJob } from '../../sql/jobs/jobs.ts'
import { findArrivalBound } from '../../sql/traces/trace-walks.ts'
import { admitJob } from '../admit-job.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { errorBody, projectField, waitHeaders } from '../fields.ts'
import { readableProjects } from '../projects.ts'
import { answerLongWork } from '../wait.ts'
import { filterQuery } from './trace-query.ts'

const deletionBody = Joi.object({
  status: Joi.string()
    .valid(...JOB_STATES)
    .required(),
  matched_count: Joi.number()
    .integer()
    .required()
    .description('Traces of the filter, so far unless the job has succeeded'),
  deleted_count: Joi.number()
    .integer()
    .required()
    .description(
      'Those of them that are deleted, which stay so where the job fails or is canceled; 0 in a dry run',
    ),
  job_id: Joi.string().guid().required(),
}).label('TraceDeletion')

export const deleteTraces = endpoint('DELETE', '/traces', {
  summary: 'Delete the traces of a filter as a job',
  description:
    'Each as one is deleted by its id. The filter means what it means in the list of traces, and other parameters are refused, so that a misspelt one does not delete more than was meant. Traces that come after the request stay. A deletion that is canceled keeps what it has done.',
  access: 'key',
  keyed: true,
  query: closed(
    shape(
      {},
      {
        ...filterQuery,
        project: projectField,
        dry_run: Joi.boolean().description('Count the traces and delete none'),
      },
    ),
  ),
  headers: waitHeaders,
  answers: { 200: deletionBody, 202: deletionBody, 400: errorBody, 404: errorBody },
  async handle(call) {
    const { context, principal, query } = call
    const { project, dry_run, tag: tags, ...given } = query
    const filter = { ...given, ...(tags && { tags }) }
    if (Object.values(filter).every((value) => value === undefined)) {
      throw badRequest('Name at least one filter besides the project')
    }
    const projectIds = await readableProjects(context.sql, principal, project)
    const [only, ...others] = projectIds ?? []
    const projectId = only !== undefined && others.length === 0 ? only : null
    const jobId = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const payload = {
        created_before: await findArrivalBound(tx),
        filter,
        ...(projectIds && { project_ids: [...projectIds] }),
        ...(dry_run && { dry_run }),
      }
      return admitJob(context, tx, principal, deleteJob, payload, { projectId })
    })
    return answerLongWork(call, jobId, 200, async () => {
      const [job, done] = await Promise.all([
        findJob(context.sql, principal.orgId, jobId),
        findCheckpoint(context.sql, principal.orgId, jobId),
      ])
      const { matched, deleted } = (done ?? NONE) as typeof NONE
      return {
        status: statusOfWork(job?.state ?? 'queued'),
        matched_count: matched,
        deleted_count: deleted,
      }
    })
  },
})

/** Before the first step; as the checkpoint of the job has it. */
const NONE = { matched: 0, deleted: 0 }
