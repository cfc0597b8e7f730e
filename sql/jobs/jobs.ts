import { CANCEL_CHANNEL, END_CHANNEL } from '../../jobs/queue.ts'
import type { NewQueueRow } from '../../jobs/queue.ts'
import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import type { Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'
import { isVisibleWork } from '../core/projects.ts'
import type { VisibleWork } from '../core/projects.ts'
import { addQueueRow } from './pg-boss.ts'

/** The job resource as stored. */
export interface JobRow {
  id: string
  org_id: string
  project_id: string | null
  kind: string
  queue_job_id: string
  state: JobState
  attempt: number
  interruptions: number
  progress_done: number
  progress_total: number | null
  progress_unit: string | null
  progress_note: string | null
  request: Record<string, unknown>
  result: Record<string, unknown> | null
  result_ref: string | null
  error: JobError | null
  created_at: Date
  started_at: Date | null
  updated_at: Date
  finished_at: Date | null
  cancel_requested_at: Date | null
  /** The key that asked for it. */
  created_by: string | null
}

export interface JobError {
  code: string
  message: string
  retryable: boolean
  details?: object
}

export interface Progress {
  done: number
  total?: number | undefined
  unit?: string | undefined
  note?: string | undefined
}

export interface NewJob {
  id: string
  org_id: string
  project_id: string | null
  request: object
  result_ref: string | null
  created_by: string | null
  /** The idempotency key it was made under, if any. */
  request_id?: string | undefined
}

/**
 * Adds a job and its queue row in one statement. Returns the row's id; undefined, and nothing is added, where
 * the queue's policy already holds one for the key.
 */
export async function insertJob(sql: Queryable, row: NewQueueRow, job: NewJob) {
  const [added] = await sql<{ queue_job_id: string }[]>`
    with queued as (${addQueueRow(sql, row)})
    insert into jobs (org_id, id, project_id, kind, queue_job_id, request, result_ref, created_by,
      request_id)
    select ${job.org_id}, ${job.id}, ${job.project_id}, ${row.queue}, queued.id,
      ${jsonText(job.request)}::text::jsonb, ${job.result_ref}, ${job.created_by},
      ${job.request_id ?? null}
    from queued
    returning queue_job_id`
  return added?.queue_job_id
}

export async function findJob(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<JobRow[]>`
    select ${jobColumns(sql)} from jobs where org_id = ${orgId} and id = ${id}`
  return row
}

/** How far the work of a job is committed, as its runs have told; null before they have. */
export async function findCheckpoint(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<{ checkpoint: object | null }[]>`
    select checkpoint from jobs where org_id = ${orgId} and id = ${id}`
  return row?.checkpoint ?? null
}

/** A job that was made under an idempotency key. */
export async function findJobOfRequest(sql: Queryable, orgId: string, requestId: string) {
  const [row] = await sql<{ id: string }[]>`
    select id from jobs where org_id = ${orgId} and request_id = ${requestId} limit 1`
  return row?.id
}

/** Deletes a job that nothing refers to, with its attempts. */
export async function deleteJob(sql: Queryable, orgId: string, id: string) {
  await sql`delete from jobs where org_id = ${orgId} and id = ${id}`
}

export interface JobFilter extends VisibleWork {
  readonly kind?: string | undefined
  readonly state?: JobState | undefined
  readonly createdAfter?: Date | undefined
  readonly before?: AgeKey | undefined
  readonly limit: number
}

/** Newest first. Results beyond `MAX_LISTED_RESULT` are left out. */
export async function listJobs(sql: Queryable, orgId: string, filter: JobFilter) {
  const small = sql`case when octet_length(result::text) <= ${MAX_LISTED_RESULT} then result end`
  return sql<JobRow[]>`
    select ${jobColumns(sql, small)} from jobs j
    where ${matching(sql, orgId, filter)}
      ${isOlder(sql, sql`(created_at, id)`, filter.before)}
    order by created_at desc, id desc
    limit ${filter.limit}`
}

/** How many jobs match, counted no further than `limit`. */
export async function countJobs(sql: Queryable, orgId: string, filter: JobFilter, limit: number) {
  return countUpTo(sql, limit, sql`jobs j where ${matching(sql, orgId, filter)}`)
}

/** How many jobs of a kind wait to begin, counted no further than `limit`. */
export async function countWaitingJobs(sql: Queryable, orgId: string, kind: string, limit: number) {
  const waiting = sql`jobs where org_id = ${orgId} and kind = ${kind} and state = 'queued'`
  return countUpTo(sql, limit, waiting)
}

/** Median seconds from creation to success over the newest jobs of a kind; undefined without any. */
export async function findUsualSeconds(sql: Queryable, orgId: string, kind: string) {
  const [row] = await sql<{ seconds: number | null }[]>`
    select percentile_cont(0.5) within group (order by seconds) as seconds from (
      select extract(epoch from finished_at - created_at)::float8 as seconds from jobs
      where org_id = ${orgId} and kind = ${kind} and finished_at is not null
        and state = 'succeeded'
      order by finished_at desc limit ${JOBS_MEASURED}) as newest`
  return row?.seconds ?? undefined
}

/**
 * Requests that a job be canceled: a waiting one is canceled at once, a running one becomes `cancelling`.
 * Its worker, or whoever waits for its end, is notified at the commit. Returns the state before and
 * after, or undefined when there is no such job.
 */
export async function requestCancel(sql: Queryable, orgId: string, id: string) {
  const [row] = await sql<CancelRow[]>`
    with found as (
      select kind, state, queue_job_id from jobs where org_id = ${orgId} and id = ${id} for update
    ), changed as (
      update jobs set
        state = case when found.state = 'queued' then 'canceled' else 'cancelling' end,
        cancel_requested_at = now(), updated_at = now(),
        finished_at = case when found.state = 'queued' then now() end
      from found
      where jobs.org_id = ${orgId} and jobs.id = ${id} and found.state in ('queued', 'running')
      returning jobs.state
    ), ended as (
      select kind, found.state as before, coalesce(changed.state, found.state) as after, queue_job_id
      from found left join changed on true
    )
    select kind, before, after, queue_job_id, case after
      when 'cancelling' then pg_notify(${CANCEL_CHANNEL}, ${id})
      when 'canceled' then pg_notify(${END_CHANNEL}, ${id}) end as notified
    from ended`
  return row
}

/** Lets a failed job start over under a new queue row. False when it is not failed (any more). */
export async function restartJob(sql: Queryable, orgId: string, id: string, queueJobId: string) {
  const updated = await sql`
    update jobs set state = 'queued', queue_job_id = ${queueJobId}, queue_attempt = null,
      rescued_at = null, cancel_requested_at = null, error = null, finished_at = null,
      updated_at = now()
    where org_id = ${orgId} and id = ${id} and state = 'failed'`
  return updated.count === 1
}

/** The columns of a `JobRow`. */
export function jobColumns(sql: Queryable, result = sql`result`) {
  return sql`id, org_id, project_id, kind, queue_job_id, state, attempt, interruptions, progress_done,
    progress_total, progress_unit, progress_note, request, ${result} as result, result_ref, error, created_at,
    started_at, updated_at, finished_at, cancel_requested_at, created_by`
}

/** Bytes. A page of 500 jobs has 8 MB of results at most. */
const MAX_LISTED_RESULT = 16 << 10

interface CancelRow {
  kind: string
  before: JobState
  after: JobState
  queue_job_id: string
}

function matching(sql: Queryable, orgId: string, filter: JobFilter) {
  return sql`org_id = ${orgId}
    ${isVisibleWork(sql, filter)}
    ${filter.kind ? sql`and kind = ${filter.kind}` : sql``}
    ${filter.state ? sql`and state = ${filter.state} ${indexedStates(sql, filter.state)}` : sql``}
    ${filter.createdAfter ? sql`and created_at > ${filter.createdAfter}` : sql``}`
}

/** Names the partial index of a state, which the planner cannot choose for a parameter. */
function indexedStates(sql: Queryable, state: JobState) {
  if (state === 'succeeded') return sql``
  if (state === 'queued') return sql`and state = 'queued'`
  if (state === 'failed' || state === 'canceled') return sql`and state in ('failed', 'canceled')`
  return sql`and state in ('running', 'cancelling')`
}

const JOBS_MEASURED = 20
