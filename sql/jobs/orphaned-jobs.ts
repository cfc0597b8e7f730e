import type { OrphanedJob } from '../../jobs/rules/jobs/orphaned.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import type { JobError } from './jobs.ts'
import { hasQueueRowTimedOut, isQueueRowAlive, joinQueueRow, queueRowState } from './pg-boss.ts'

export interface OrphanedJobRow extends OrphanedJob {
  readonly org_id: string
  readonly id: string
  readonly kind: string
  readonly request: object
}

/**
 * Locks jobs that no worker will settle until the transaction ends; skips those that another
 * transaction has locked. `claimed` looks only at jobs that a worker should be working on, which are
 * few; `all` looks at those that should wait in their queue too.
 */
export async function lockOrphanedJobs(sql: Queryable, which: 'claimed' | 'all', limit: number) {
  const found = await sql<{ org_id: string; id: string }[]>`
    select j.org_id, j.id from ${joined(sql)}
    where ${which === 'claimed' ? sql`j.state in ('running', 'cancelling') and` : sql``}
      ${isOrphaned(sql)}
    limit ${limit}`
  if (found.length === 0) return []
  const locked = await sql<{ org_id: string; id: string }[]>`
    select org_id, id from jobs where ${isOneOf(sql, sql`jobs`, found)} for update skip locked`
  // A worker may have claimed one before the lock was taken, so the condition is checked again under it.
  return sql<OrphanedJobRow[]>`
    select j.org_id, j.id, j.kind, j.request, j.state, j.rescued_at is not null as was_rescued,
      ${queueRowState(sql)} as queue_row, ${hasQueueRowTimedOut(sql)} as timed_out
    from ${joined(sql)}
    where ${isOneOf(sql, sql`j`, locked)} and ${isOrphaned(sql)}`
}

/** Ends a locked job. */
export async function endOrphanedJob(
  sql: Queryable,
  job: OrphanedJobRow,
  state: 'failed' | 'canceled',
  error: JobError | null,
) {
  await sql`
    update jobs set state = ${state}, error = ${errorText(error)}::text::jsonb,
      finished_at = now(), updated_at = now()
    where org_id = ${job.org_id} and id = ${job.id}`
  await endAttempts(sql, job, error)
}

/** Lets a locked job wait for the next attempt of its queue row. */
export async function requeueOrphanedJob(sql: Queryable, job: OrphanedJobRow, error: JobError) {
  await sql`
    update jobs set state = 'queued', error = ${errorText(error)}::text::jsonb, updated_at = now()
    where org_id = ${job.org_id} and id = ${job.id}`
  await endAttempts(sql, job, error)
}

/** Lets a locked job wait in a new queue row, once. */
export async function rescueJob(sql: Queryable, job: OrphanedJobRow, queueJobId: string) {
  await sql`
    update jobs set state = 'queued', queue_job_id = ${queueJobId}, queue_attempt = null,
      rescued_at = now(), updated_at = now()
    where org_id = ${job.org_id} and id = ${job.id}`
  await endAttempts(sql, job, null)
}

async function endAttempts(sql: Queryable, { org_id, id }: OrphanedJobRow, error: JobError | null) {
  await sql`
    update job_attempts set ended_at = now(), outcome = 'lost',
      error = ${errorText(error)}::text::jsonb
    where org_id = ${org_id} and job_id = ${id} and ended_at is null`
}

function joined(sql: Queryable) {
  return sql`jobs j ${joinQueueRow(sql)}`
}

function isOrphaned(sql: Queryable) {
  return sql`j.finished_at is null and case j.state
    when 'queued' then not ${isQueueRowAlive(sql)}
    else ${queueRowState(sql)} <> 'active' end`
}

function isOneOf(sql: Queryable, table: Fragment, keys: readonly { org_id: string; id: string }[]) {
  return sql`(${table}.org_id, ${table}.id) in (
    select * from unnest(${keys.map(({ org_id }) => org_id)}::uuid[],
      ${keys.map(({ id }) => id)}::uuid[]))`
}

function errorText(error: JobError | null) {
  return error && jsonText(error)
}
