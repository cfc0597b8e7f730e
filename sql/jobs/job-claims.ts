import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import type { JobError, Progress } from './jobs.ts'

/** What the worker that holds a job's queue row knows of it. */
export interface QueueClaim {
  readonly orgId: string
  readonly id: string
  readonly queueJobId: string
  /** Counts the claims of the queue row. */
  readonly queueAttempt: number
  /** Host and process. */
  readonly worker: string
}

/** Every write of a claim names it; the functions below return false when the claim has been lost. */
export interface Claim {
  readonly orgId: string
  readonly id: string
  /** The fencing token. */
  readonly attempt: number
}

/**
 * Takes a job for the worker that holds its queue row, adding one to `attempt`. Without a row, the job
 * was settled, moved to another queue row, or taken by a later claim of this one, and the caller drops
 * the claim. A job that is being canceled is claimed too, so that it can be settled.
 *
 * Asked again, after its answer was lost, it returns the claim that it has made: a queue row is taken only
 * once with the same `queueAttempt`.
 */
export async function claimJob(sql: Queryable, claim: QueueClaim) {
  const { orgId, id, queueJobId, queueAttempt, worker } = claim
  const [row] = await sql<{ attempt: number; checkpoint: object | null; state: JobState }[]>`
    with claimed as (
      update jobs set
        state = case when state = 'cancelling' then state else 'running' end,
        attempt = attempt + case when queue_attempt = ${queueAttempt} then 0 else 1 end,
        queue_attempt = ${queueAttempt},
        started_at = coalesce(started_at, now()), updated_at = now()
      where org_id = ${orgId} and id = ${id} and queue_job_id = ${queueJobId}
        and state in ('queued', 'running', 'cancelling')
        and (queue_attempt is null or queue_attempt < ${queueAttempt}
          or (queue_attempt = ${queueAttempt} and state <> 'queued'))
      returning attempt, checkpoint, state
    ), lost as (
      update job_attempts set ended_at = now(), outcome = 'lost'
      where org_id = ${orgId} and job_id = ${id} and ended_at is null
        and attempt < (select attempt from claimed)
    ), begun as (
      insert into job_attempts (org_id, job_id, attempt, worker)
      select ${orgId}, ${id}, attempt, ${worker} from claimed
      on conflict do nothing
    )
    select attempt, checkpoint, state from claimed`
  return row
}

/**
 * Stores progress and checkpoint. The transaction thereby holds only if the claim does.
 *
 * The share that is done never falls, whatever a further attempt or another phase reports: `done` is
 * raised to the share reached before, and progress without a total changes only the note once there is
 * a total.
 */
export async function saveCheckpoint(
  sql: Queryable,
  claim: Claim,
  progress: Progress,
  checkpoint?: object,
) {
  const total = progress.total ?? null
  const stays = sql`${total}::bigint is null and progress_total is not null`
  const updated = await sql`
    update jobs set
      progress_done = case when ${stays} then progress_done else greatest(${progress.done}::bigint,
        ceil(progress_done::numeric * ${total}::bigint / nullif(progress_total, 0))) end,
      progress_total = coalesce(${total}::bigint, progress_total),
      progress_unit = case when ${stays} then progress_unit else ${progress.unit ?? null} end,
      progress_note = ${progress.note ?? null},
      ${checkpoint ? sql`checkpoint = ${jsonText(checkpoint)}::text::jsonb,` : sql``}
      updated_at = now()
    where ${held(sql, claim)}`
  return updated.count === 1
}

export async function succeedJob(sql: Queryable, claim: Claim, result: object) {
  return settle(sql, claim, 'succeeded', {
    changes: sql`state = 'succeeded', result = ${jsonText(result)}::text::jsonb, error = null,
      progress_done = greatest(progress_done, coalesce(progress_total, 0)), finished_at = now()`,
  })
}

export async function failJob(sql: Queryable, claim: Claim, error: JobError) {
  return settle(sql, claim, 'failed', {
    changes: sql`state = 'failed', error = ${jsonText(error)}::text::jsonb, finished_at = now()`,
    error,
  })
}

/** Settles a job that somebody asked to cancel. */
export async function cancelClaimedJob(sql: Queryable, claim: Claim) {
  return settle(sql, claim, 'canceled', {
    changes: sql`state = 'canceled', finished_at = now()`,
    where: sql`and cancel_requested_at is not null`,
  })
}

/**
 * Puts a claimed job back to wait for its next attempt, with the error of this one.
 * @param queueJobId of a new queue row, when the attempt is not the next one of this row
 */
export async function requeueJob(
  sql: Queryable,
  claim: Claim,
  error: JobError,
  queueJobId?: string,
) {
  const moved = queueJobId ? sql`, queue_job_id = ${queueJobId}, queue_attempt = null` : sql``
  return settle(sql, claim, 'failed', {
    changes: sql`state = ${waiting(sql)}, error = ${jsonText(error)}::text::jsonb ${moved}`,
    error,
  })
}

/**
 * Points the job at a new queue row that goes on where this claim stopped; costs no attempt. False also
 * for a job that has `continued` and is to be canceled, which is not to wait for its next run.
 */
export async function continueJob(
  sql: Queryable,
  claim: Claim,
  queueJobId: string,
  outcome: 'released' | 'continued',
) {
  return settle(sql, claim, outcome, {
    changes: sql`state = ${waiting(sql)}, queue_job_id = ${queueJobId}, queue_attempt = null,
      interruptions = interruptions + ${outcome === 'released' ? 1 : 0}`,
    where: outcome === 'continued' ? sql`and cancel_requested_at is null` : sql``,
  })
}

/**
 * Points the job at a new queue row after the claim of `queueJobId` was lost. False when the job does
 * not belong to that row, has ended, or is to be canceled.
 */
export async function moveLostJob(
  sql: Queryable,
  { orgId, id, queueJobId }: Pick<QueueClaim, 'orgId' | 'id' | 'queueJobId'>,
  newQueueJobId: string,
) {
  const moved = await sql`
    with moved as (
      update jobs set state = 'queued', queue_job_id = ${newQueueJobId}, queue_attempt = null,
        interruptions = interruptions + 1, updated_at = now()
      where org_id = ${orgId} and id = ${id} and queue_job_id = ${queueJobId}
        and state in ('queued', 'running')
      returning id
    ), lost as (
      update job_attempts set ended_at = now(), outcome = 'lost'
      where org_id = ${orgId} and job_id = ${id} and ended_at is null
        and exists (select from moved)
    )
    select id from moved`
  return moved.length === 1
}

/** Which of these jobs somebody wants canceled. */
export async function listCancelRequested(sql: Queryable, ids: readonly string[]) {
  const rows = await sql<{ id: string }[]>`
    select id from jobs
    where id = any(${ids}::uuid[]) and state = 'cancelling'`
  return rows.map(({ id }) => id)
}

/** Changes the job and ends its attempt, in one statement, if the claim still holds. */
async function settle(
  sql: Queryable,
  claim: Claim,
  outcome: string,
  { changes, where = sql``, error }: { changes: Fragment; where?: Fragment; error?: JobError },
) {
  const settled = await sql`
    with settled as (
      update jobs set ${changes}, updated_at = now() where ${held(sql, claim)} ${where}
      returning id
    ), ended as (
      update job_attempts set ended_at = now(), outcome = ${outcome},
        error = ${error ? jsonText(error) : null}::text::jsonb
      where org_id = ${claim.orgId} and job_id = ${claim.id} and attempt = ${claim.attempt}
        and exists (select from settled)
    )
    select id from settled`
  return settled.length === 1
}

function held(sql: Queryable, { orgId, id, attempt }: Claim) {
  return sql`org_id = ${orgId} and id = ${id} and attempt = ${attempt}
    and state in ('running', 'cancelling')`
}

function waiting(sql: Queryable) {
  return sql`case when state = 'cancelling' then state else 'queued' end`
}
