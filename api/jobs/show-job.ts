import { createHash } from 'node:crypto'
import { int, shape } from '../../jobs/shape.ts'
import { listJobAttempts } from '../../sql/jobs/job-attempts.ts'
import { waitApart } from '../concurrency.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { jobRetryAfter } from '../wait.ts'
import { findVisibleJob, jobBody, jobPath, viewJob } from './job.ts'

export const showJob = endpoint('GET', '/jobs/{job_id}', {
  summary: 'Read a job, waiting for its end when asked to',
  description: 'Until it has ended, `Retry-After` says when to look again.',
  access: 'key',
  params: jobPath,
  query: shape({}, { wait: int(0, 55).description('Seconds to wait for the end of the job') }),
  answers: { 200: jobBody, 404: errorBody },
  async handle({ context, principal, params, query, request }) {
    let job = await findVisibleJob(context, principal, params.job_id)
    if (query.wait) {
      const { id } = job
      const wait = (seconds: number) => context.waiter.wait(principal.orgId, id, seconds)
      job = (await waitApart(request, query.wait, wait)) ?? job
    }
    const history = await listJobAttempts(context.sql, job.org_id, job.id, ATTEMPTS_SHOWN)
    const body = { ...viewJob(job), history }
    const tag = `"${createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 22)}"`
    const seconds = body.done ? undefined : await jobRetryAfter(context, job)
    const headers = { ETag: tag, ...(seconds && { 'Retry-After': String(seconds) }) }
    if (request.headers['if-none-match'] === tag) return new Answer(304, null, headers)
    return new Answer(200, body, headers)
  },
})

const ATTEMPTS_SHOWN = 100
