import Joi from 'joi'
import { createHash } from 'node:crypto'
import { int, shape, uuid } from '../../jobs/shape.ts'
import { listJobAttempts } from '../../sql/job-attempts.ts'
import { findJob } from '../../sql/jobs.ts'
import type { JobRow } from '../../sql/jobs.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { maySee, readableProjects } from '../projects.ts'
import { jobRetryAfter } from '../wait.ts'

export const jobStates = [
  'queued',
  'running',
  'cancelling',
  'succeeded',
  'failed',
  'cancelled',
] as const

const outcomes = ['succeeded', 'failed', 'cancelled', 'released', 'continued', 'lost']

export const jobBody = Joi.object({
  id: Joi.string().guid().required(),
  kind: Joi.string().required(),
  state: Joi.string()
    .valid(...jobStates)
    .required(),
  done: Joi.boolean().required().description('The state is final'),
  attempt: Joi.number().integer().required(),
  progress: Joi.object({
    done: Joi.number().integer().required(),
    total: nullable(Joi.number().integer()),
    unit: nullable(Joi.string()),
    percent: nullable(Joi.number()),
    note: nullable(Joi.string()),
  })
    .required()
    .label('JobProgress'),
  created_at: times.required(),
  started_at: nullable(times),
  updated_at: times.required(),
  finished_at: nullable(times),
  expires_at: nullable(times),
  cancel_requested_at: nullable(times),
  result: nullable(Joi.object().unknown(true)),
  error: nullable(
    Joi.object({
      code: Joi.string().required(),
      message: Joi.string().required(),
      retryable: Joi.boolean().required(),
      attempts: Joi.number().integer().required(),
      details: Joi.object().unknown(true),
    }).label('JobError'),
  ),
  history: Joi.array()
    .items(
      Joi.object({
        attempt: Joi.number().integer().required(),
        started_at: times.required(),
        ended_at: nullable(times).required(),
        outcome: nullable(Joi.string().valid(...outcomes)).required(),
        error: nullable(Joi.object().unknown(true)).required(),
      }).label('JobAttempt'),
    )
    .description('The newest attempts, oldest first; only where one job is read'),
  links: Joi.object({
    self: Joi.string().required(),
    cancel: Joi.string().required(),
    result: nullable(Joi.string()),
  })
    .required()
    .label('JobLinks'),
}).label('Job')

/** A job as clients see it. */
export function showJob(job: JobRow) {
  const { progress_done: done, progress_total: total } = job
  return {
    id: job.id,
    kind: job.kind,
    state: job.state,
    done: job.finished_at !== null,
    attempt: job.attempt,
    progress: {
      done,
      total,
      unit: job.progress_unit,
      percent: total ? Math.min(100, Math.floor((1000 * done) / total) / 10) : null,
      note: job.progress_note,
    },
    created_at: job.created_at,
    started_at: job.started_at,
    updated_at: job.updated_at,
    finished_at: job.finished_at,
    expires_at: job.finished_at && new Date(job.finished_at.getTime() + KEPT_MS),
    cancel_requested_at: job.cancel_requested_at,
    result: job.result,
    error: job.error && { ...job.error, attempts: job.attempt },
    links: {
      self: `/api/v1/jobs/${job.id}`,
      cancel: `/api/v1/jobs/${job.id}/cancel`,
      result: job.result_ref && `/api/v1${job.result_ref}`,
    },
  }
}

export const showJobOperation = endpoint('GET', '/jobs/{job_id}', {
  area: 'jobs',
  summary: 'Read a job, waiting for its end when asked to',
  access: 'key',
  params: shape({ job_id: uuid() }),
  query: shape({}, { wait: int(0, 55).description('Seconds to wait for the end of the job') }),
  answers: { 200: jobBody, 404: errorBody },
  async handle({ context, principal, params, query, request }) {
    let job = await findVisibleJob(context, principal, params.job_id)
    if (query.wait) job = (await context.waiter.wait(principal.orgId, job.id, query.wait)) ?? job
    const history = await listJobAttempts(context.sql, job.org_id, job.id, ATTEMPTS_SHOWN)
    const body = { ...showJob(job), history }
    const tag = `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 22)}"`
    const seconds = body.done ? undefined : await jobRetryAfter(context, job)
    const headers = { ETag: tag, ...(seconds && { 'Retry-After': String(seconds) }) }
    if (request.headers['if-none-match'] === tag) return new Answer(304, null, headers)
    return new Answer(200, body, headers)
  },
})

/** @throws ApiError 404 for a job that does not exist and for one the caller may not see, alike */
export async function findVisibleJob({ sql }: ApiContext, principal: Principal, id: string) {
  const job = await findJob(sql, principal.orgId, id)
  const visible = await readableProjects(sql, principal, undefined)
  if (!job || !maySee(visible, job.project_id)) throw notFound('Job')
  return job
}

/** How long a finished job can be read. */
const KEPT_MS = 30 * 86_400_000
const ATTEMPTS_SHOWN = 100
