import Joi from 'joi'
import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { JOB_ATTEMPT_OUTCOMES, JOB_KEPT_DAYS, JOB_STATES } from '../../jobs/rules/jobs/job-state.ts'
import { shape, uuidReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findJob } from '../../sql/jobs/jobs.ts'
import type { JobRow } from '../../sql/jobs/jobs.ts'
import { notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { maySeeWork, readableProjects } from '../projects.ts'

export const jobBody = Joi.object({
  id: Joi.string().guid().required(),
  kind: Joi.string().required(),
  state: Joi.string()
    .valid(...JOB_STATES)
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
        ended_at: nullable(times),
        outcome: nullable(Joi.string().valid(...JOB_ATTEMPT_OUTCOMES)),
        error: nullable(Joi.object().unknown(true)),
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

export const jobPath = shape({ job_id: uuidReference() })

/** A job as clients see it. */
export function viewJob(job: JobRow) {
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

/** @throws ApiError 404 for a job that does not exist and for one the caller may not see, alike */
export async function findVisibleJob(
  { sql }: { readonly sql: Queryable },
  principal: Principal,
  id: string,
) {
  const job = await findJob(sql, principal.orgId, id)
  const visible = await readableProjects(sql, principal, undefined)
  if (!job || !maySeeWork(visible, job, principal)) throw notFound('Job')
  return job
}

const KEPT_MS = JOB_KEPT_DAYS * DAY_MS
