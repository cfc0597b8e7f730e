import type { AstrayJob } from '../jobs/rules/astray.ts'
import type { Queryable } from './db.ts'
import { jsonText } from './db.ts'
import type { JobError } from './jobs.ts'

export interface AstrayJobRow extends AstrayJob {
  readonly org_id: string
  readonly id: string
  readonly kind: string
  readonly request: object
}

/**
 * Jobs that no worker will settle, locked until the transaction ends; those that somebody else has
 * locked are left to him. `claimed` looks only at jobs that a worker should be working on, of which
 * there are few; `all` also at those that should wait in their queue.
 */
export async function lockAstrayJobs(sql: Queryable, which: 'claimed' | 'all', limit: number) {
  const found = await sql<{ org_id: string; id: string }[]>`
    select j.org_id, j.id from ${joined(sql)}
    where ${which === 'claimed' ? sql`j.state in ('running', 'cancelling') and` : sql``}
      ${isAstray(sql)}
    limit ${limit}`
  if (found.length === 0) return []
  const locked = await sql<{ org_id: string; id: string }[]>`
    select org_id, id from jobs where ${isOneOf(sql, sql`jobs`, found)} for update skip locked`
  // A worker may have claimed one until the lock was there; what is seen under it holds.
  return sql<AstrayJobRow[]>`
    select j.org_id, j.id, j.kind, j.request, j.state, j.rescued_at is not null as was_rescued,
      q.state as queue_state, q.output->'value'->>'message' as queue_message
    from ${joined(sql)}
    where ${isOneOf(sql, sql`j`, locked)} and ${isAstray(sql)}`
}

/** Ends a locked job. */
export async function endAstrayJob(
  sql: Queryable,
  job: AstrayJobRow,
  state: 'failed' | 'cancelled',
  error: JobError | null,
) {
  await sql`
    update jobs set state = ${state}, error = ${errorText(error)}::text::jsonb,
      finished_at = now(), updated_at = now()
    where org_id = ${job.org_id} and id = ${job.id}`
  await endAttempts(sql, job, error)
}

/** Lets a locked job wait for the next attempt of its queue row. */
export async function requeueAstrayJob(sql: Queryable, job: AstrayJobRow, error: JobError) {
  await sql`
    update jobs set state = 'queued', error = ${errorText(error)}::text::jsonb, updated_at = now()
    where org_id = ${job.org_id} and id = ${job.id}`
  await endAttempts(sql, job, error)
}

/** Lets a locked job wait in a new queue row, once. */
export async function rescueJob(sql: Queryable, job: AstrayJobRow, queueJobId: string) {
  await sql`
    update jobs set state = 'queued', queue_job_id = ${queueJobId}, queue_attempt = null,
      rescued_at = now(), updated_at = now()
    where org_id = ${job.org_id} and id = ${job.id}`
  await endAttempts(sql, job, null)
}

async function endAttempts(sql: Queryable, { org_id, id }: AstrayJobRow, error: JobError | null) {
  await sql`
    update job_attempts set ended_at = now(), outcome = 'lost',
      error = ${errorText(error)}::text::jsonb
    where org_id = ${org_id} and job_id = ${id} and ended_at is null`
}

function joined(sql: Queryable) {
  return sql`jobs j left join pgboss.job q on q.name = j.kind and q.id = j.queue_job_id`
}

function isAstray(sql: Queryable) {
  return sql`j.finished_at is null and case j.state
    when 'queued' then q.state is null or q.state >= 'completed'
    else q.state is distinct from 'active' end`
}

function isOneOf(sql: Queryable, table: Fragment, keys: readonly { org_id: string; id: string }[]) {
  return sql`(${table}.org_id, ${table}.id) in (
    select * from unnest(${keys.map(({ org_id }) => org_id)}::uuid[],
      ${keys.map(({ id }) => id)}::uuid[]))`
}

function errorText(error: JobError | null) {
  return error && jsonText(error)
}

type Fragment = ReturnType<Queryable>
