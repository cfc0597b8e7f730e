import type { Envelope, LostClaim, NewQueueRow } from '../../jobs/queue.ts'
import { jsonText } from '../core/db.ts'
import type { Fragment, Queryable, Transaction } from '../core/db.ts'

/**
 * All that we know of pg-boss's tables, states and messages. They are read for what it has no function
 * for: turns, who waits, and comparing its rows with ours. Only new rows of queues are written to them;
 * `test/sql/jobs/pg-boss.test.ts` compares these with its own. What we know of its functions is in
 * `jobs/pg-boss.ts`.
 *
 * Its states are in this order: created, retry, active, completed, cancelled, failed.
 */

/** The schema that its tables are in. */
export const QUEUE_SCHEMA = 'pgboss'

/** Adds a row to a queue. Returns its id; undefined where the queue's policy already holds one for the key. */
export async function insertQueueRow(sql: Queryable, row: NewQueueRow) {
  const [added] = await sql<{ id: string }[]>`${addQueueRow(sql, row)}`
  return added?.id
}

/**
 * Adds a row to a queue, with the options that the queue has by now, as `send` of pg-boss does. It finds
 * the organization's turn in the same statement, of which the server keeps the plan. It returns the
 * row's `id`, or nothing where the queue's policy already holds one for the key.
 *
 * The turn is the priority, and priorities count down as in start-time fair queueing: a job stands one
 * behind the organization's last waiting one, or beside the queue's first when it has none, whichever is
 * later. So organizations alternate however much each of them has waiting, nobody saves up turns while
 * idle, and an empty queue begins at 0 again. Two look-ups in indexes, whatever the depth of the queue.
 *
 * Transactions that run side by side do not see each other's jobs and may take the same turn; the
 * next one then steps back by as many, up to `TIES_COUNTED`.
 */
export function addQueueRow(sql: Queryable, row: NewQueueRow) {
  const { queue, data, key, priority, startAfterSeconds, retryLimit } = row
  const orgId = data.org_id
  // Without a queue of this name, columns that must not be null are, and the statement fails. The queue's
  // first is not later than a job that is due, and is not looked for beside one.
  return sql`
    insert into pgboss.job_common (name, data, priority, start_after, keep_until, singleton_key,
      group_id, retry_limit, retry_delay, retry_backoff, retry_delay_max, expire_seconds,
      deletion_seconds, policy, dead_letter, heartbeat_seconds)
    select ${queue}, ${jsonText(data)}::text::jsonb,
      coalesce(${priority ?? (orgId === null ? 0 : null)}, (
        select greatest(${LAST_TURN}::int, least(0,
          last.priority - (select count(*)::int from (
            select from pgboss.job where name = ${queue} and state < 'active' and group_id = ${orgId}
              and priority = last.priority limit ${TIES_COUNTED}) as ties),
          case when last.start_after <= now() then null else (${firstPriority(sql, queue)}) end))
        from (select) as one left join (
          select priority, start_after from pgboss.job
          where name = ${queue} and state < 'active' and group_id = ${orgId} and priority <= 0
          order by priority limit 1) as last on true)),
      due, due + make_interval(secs => q.retention_seconds), ${key ?? null}, ${orgId},
      coalesce(${retryLimit ?? null}, q.retry_limit), q.retry_delay, q.retry_backoff, q.retry_delay_max,
      q.expire_seconds, q.deletion_seconds, q.policy, q.dead_letter, q.heartbeat_seconds
    from (select now() + make_interval(secs => ${startAfterSeconds ?? 0}) as due) as one
      left join pgboss.queue q on q.name = ${queue}
    on conflict do nothing
    returning id`
}

/**
 * The priority at which a job that was cut into slices goes on: in its own turn, but not before the
 * queue's first, so that those who wait beside it come in between.
 */
export async function findContinuationTurn(sql: Queryable, queue: string, priority: number) {
  const [row] = await sql<{ turn: number }[]>`
    select least(${priority}::int, 0, (${firstPriority(sql, queue)})) as turn`
  return row?.turn ?? 0
}

/** Whether somebody else than the organization has a job in the queue that could run now. */
export async function isAnotherWaiting(sql: Queryable, queue: string, orgId: string) {
  const waiting = await sql`
    (select from pgboss.job where name = ${queue} and state < 'active' and group_id < ${orgId}
      and start_after <= now() limit 1)
    union all
    (select from pgboss.job where name = ${queue} and state < 'active' and group_id > ${orgId}
      and start_after <= now() limit 1)`
  return waiting.length > 0
}

/** How many jobs of each of these organizations workers have claimed in a queue; those with none are left out. */
export async function countActive(sql: Queryable, queue: string, orgIds: readonly string[]) {
  const rows = await sql<{ org_id: string; n: number }[]>`
    select group_id as org_id, count(*)::int as n from pgboss.job
    where name = ${queue} and state = 'active' and group_id = any(${orgIds}::text[])
    group by group_id`
  return new Map(rows.map(({ org_id, n }) => [org_id, n]))
}

/** Whether a worker has claimed a job of an organization, in any queue. */
export async function isAnyActive(sql: Queryable, orgId: string) {
  const active = await sql`
    select from pgboss.job where state = 'active' and group_id = ${orgId} limit 1`
  return active.length > 0
}

/**
 * Locks rows of an organization in all queues, dead letters too, but for those that workers have claimed.
 * None of them is claimed before the transaction ends.
 */
export async function lockRowsOf(tx: Queryable, orgId: string, limit: number) {
  return tx<{ name: string; id: string }[]>`
    select name, id from pgboss.job
    where data ->> 'org_id' = ${orgId} and state <> 'active' limit ${limit}
    for update skip locked`
}

/** How many jobs of each of these organizations could run now in a queue; those with none are left out. */
export async function countWaiting(sql: Queryable, queue: string, orgIds: readonly string[]) {
  const rows = await sql<{ org_id: string; n: number }[]>`
    select group_id as org_id, count(*)::int as n from pgboss.job
    where name = ${queue} and state < 'active' and start_after <= now()
      and group_id = any(${orgIds}::text[])
    group by group_id`
  return new Map(rows.map(({ org_id, n }) => [org_id, n]))
}

/**
 * The turns of the next `limit` jobs of a queue that could run now, those of some organizations left
 * out; undefined without any. A few look-ups in an index for each organization that waits, whatever any
 * of them has waiting.
 */
export async function findTurns(
  sql: Queryable,
  queue: string,
  exceptOrgIds: readonly string[],
  limit: number,
) {
  // Without `not blocked`, so that the index by turn alone, which knows no organizations, is no choice.
  const next = (whose: Fragment) => sql`
    select priority from pgboss.job
    where name = ${queue} and state < 'active' and ${whose}
      and start_after <= now()
    order by priority desc limit ${limit}`
  const first = (whose: Fragment) => sql`
    select group_id from pgboss.job
    where name = ${queue} and state < 'active' and ${whose}
    order by group_id limit 1`
  const [row] = await sql<{ first: number | null; last: number | null }[]>`
    with recursive waiting as (
      (${first(sql`group_id is not null`)})
      union all
      select (${first(sql`group_id > waiting.group_id`)}) from waiting where group_id is not null
    ), turns as (
      select priority from waiting, lateral (${next(sql`group_id = waiting.group_id`)}) as jobs
      where waiting.group_id <> all(${exceptOrgIds}::text[])
      union all
      (${next(sql`group_id is null`)})
    )
    select max(priority) as first, min(priority) as last from (
      select priority from turns order by priority desc limit ${limit}) as chosen`
  const { first: highest, last } = row ?? {}
  return highest === null || highest === undefined || last === null || last === undefined
    ? undefined
    : { first: highest, last }
}

/**
 * Claims whose worker was not heard of for longer than their heartbeat, except those of jobs that run
 * alone.
 */
export async function listLostClaims(sql: Queryable, limit: number) {
  return sql<LostClaim[]>`
    select id, name as queue, data, singleton_key as key, retry_count as "retryCount",
      retry_limit as "retryLimit"
    from pgboss.job
    where ${isLost(sql)} and name = any(array(select name from pgboss.queue)) and not data ? 'alone'
    limit ${limit}`
}

/**
 * Locks a claim that is lost still; false when its worker was heard of again. Its row of `jobs` is locked first,
 * as by those who settle it.
 */
export async function lockLostClaim(tx: Transaction, { id, queue, data, retryCount }: LostClaim) {
  const { org_id, job_id } = data
  await tx`select from jobs where org_id = ${org_id} and id = ${job_id ?? null} for no key update`
  const held = await tx`
    select from pgboss.job
    where name = ${queue} and id = ${id} and retry_count = ${retryCount} and ${isLost(tx)}
    for update`
  return held.length === 1
}

function isLost(sql: Queryable) {
  return sql`state = 'active' and heartbeat_on + heartbeat_seconds * interval '1 second' < now()`
}

/** Seconds since the queues were last looked over; undefined when they never were. */
export async function findSupervisionAge(sql: Queryable) {
  const [row] = await sql<{ age: number | null }[]>`
    select extract(epoch from now() - max(monitor_on))::float8 as age from pgboss.queue`
  return row?.age ?? undefined
}

/** Joins `jobs j` with its queue rows as `q`, which the next three fragments look at. */
export function joinQueueRow(sql: Queryable) {
  return sql`left join pgboss.job q on q.name = j.kind and q.id = j.queue_job_id`
}

/**
 * What has become of a queue row: `waiting` for its next attempt, `active` in a worker, `failed` when
 * its attempts are used up, `ended` otherwise, or `gone`.
 */
export function queueRowState(sql: Queryable) {
  return sql`case when q.state is null then 'gone' when q.state < 'active' then 'waiting'
    when q.state = 'active' then 'active' when q.state = 'failed' then 'failed' else 'ended' end`
}

/** Whether a worker has the queue row or will have it. */
export function isQueueRowAlive(sql: Queryable) {
  return sql`coalesce(q.state <= 'active', false)`
}

/** Whether a claim of the queue row was taken away because it was too old. */
export function hasQueueRowTimedOut(sql: Queryable) {
  return sql`coalesce(q.output->'value'->>'message' like '%timed out%', false)`
}

/**
 * The ids that the jobs of a queue which have not ended name as `trace_ids` of a project, as a table with
 * the columns `trace_id` and `created_on`, when the job was enqueued. Two look-ups, because each half of the states has its own index.
 */
export function queuedTraces(sql: Queryable, queue: string, orgId: string, projectId: string) {
  const naming = sql`
    select jsonb_array_elements_text(data -> 'payload' -> 'trace_ids') as trace_id, created_on
    from pgboss.job
    where name = ${queue} and group_id = ${orgId}
      and data -> 'payload' ->> 'project_id' = ${projectId}`
  return sql`(${naming} and state < 'active' union ${naming} and state = 'active')`
}

/** Which dead letters of a queue are meant. */
export interface DeadLetterFilter {
  readonly orgId?: string | undefined
  /** A part of what they died of, in any case: a code, or words of the message. */
  readonly error?: string | undefined
  /** Died at this time or later. */
  readonly since?: Date | undefined
  /** Died before. */
  readonly until?: Date | undefined
}

export interface DeadLetterRow extends DeadLetterPlace {
  data: Envelope
  error: object | null
  died_at: Date
  /** Whether its job resource was deleted. */
  is_gone: boolean
}

/** A dead letter by its place in the order of their deaths; a text, because a `Date` has no microseconds. */
export interface DeadLetterPlace {
  readonly id: string
  readonly died_at_exactly: string
}

/**
 * Oldest first.
 * @param queue the queue of dead letters
 * @param page.after only those behind this one
 */
export async function findDeadLetters(
  sql: Queryable,
  queue: string,
  filter: DeadLetterFilter,
  { limit, after }: { limit: number; after?: DeadLetterPlace | undefined },
) {
  return sql<DeadLetterRow[]>`
    select id, data, source_output as error, created_on as died_at, created_on::text as died_at_exactly,
      data ->> 'org_id' is not null and data ->> 'job_id' is not null and not exists (
        select from jobs j
        where j.org_id = (data ->> 'org_id')::uuid and j.id = (data ->> 'job_id')::uuid) as is_gone
    from pgboss.job
    where ${areMeant(sql, queue, filter)}
      ${after ? sql`and (created_on, id) > (${after.died_at_exactly}::timestamptz, ${after.id})` : sql``}
    order by created_on, id
    limit ${limit}`
}

/**
 * What is left of the jobs of a queue whose attempts are used up, as a table with the columns `org_id`, null
 * for the system's own, and `payload`.
 * @param queue the queue of dead letters
 */
export function deadJobs(sql: Queryable, queue: string) {
  return sql`(
    select (data ->> 'org_id')::uuid as org_id, data -> 'payload' as payload from pgboss.job
    where name = ${queue} and state < 'active')`
}

/** How many dead letters match. @param queue the queue of dead letters */
export async function countDeadLetters(sql: Queryable, queue: string, filter: DeadLetterFilter) {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from pgboss.job where ${areMeant(sql, queue, filter)}`
  return row?.n ?? 0
}

function areMeant(sql: Queryable, queue: string, filter: DeadLetterFilter) {
  const { orgId, error, since, until } = filter
  return sql`name = ${queue} and state < 'active'
      ${orgId ? sql`and data ->> 'org_id' = ${orgId}` : sql``}
      ${error ? sql`and strpos(lower(source_output::text), lower(${error})) > 0` : sql``}
      ${since ? sql`and created_on >= ${since}` : sql``}
      ${until ? sql`and created_on < ${until}` : sql``}`
}

/**
 * The organizations that have most in the queues: jobs that wait and jobs that run, the most in all first.
 * At most a million waiting jobs are looked at.
 */
export async function findLargestBacklogs(sql: Queryable, limit: number) {
  return sql<{ org_id: string; waiting: number; running: number; queues: object }[]>`
    with waiting as (
      select name, group_id from pgboss.job
      where state < 'active' and group_id is not null limit ${WAITING_COUNTED}
    ), running as (
      select name, group_id from pgboss.job where state = 'active' and group_id is not null
    ), counted as (
      select group_id, name, count(*) filter (where is_running = 0)::int as waiting,
        count(*) filter (where is_running = 1)::int as running
      from (select name, group_id, 0 as is_running from waiting
        union all select name, group_id, 1 from running) as both_states
      group by group_id, name
    )
    select group_id as org_id, sum(waiting)::int as waiting, sum(running)::int as running,
      jsonb_object_agg(name, jsonb_build_object('waiting', waiting, 'running', running)) as queues
    from counted group by group_id
    order by sum(waiting) + sum(running) desc, group_id limit ${limit}`
}

/** The version of its schema; undefined before it is installed. */
export async function findQueueSchemaVersion(sql: Queryable): Promise<number | undefined> {
  const [row] = await sql<{ exists: boolean }[]>`
    select to_regclass('pgboss.version') is not null as exists`
  if (!row?.exists) return undefined
  const [found] = await sql<{ version: number }[]>`select version::int from pgboss.version`
  return found?.version
}

/** The look-ups of turns need it; pg-boss has no index by group for what waits. */
export async function ensureTurnIndex(sql: Queryable) {
  const [row] = await sql<{ exists: boolean }[]>`
    select to_regclass('pgboss.job_turns') is not null as exists`
  if (row?.exists) return
  await sql`
    create index if not exists job_turns
    on pgboss.job_common (name, group_id, priority, start_after) where state < 'active'`
}

/** The highest turn of the jobs that could run now; priorities above 0 are no turns. */
function firstPriority(sql: Queryable, queue: string) {
  return sql`
    select priority from pgboss.job
    where name = ${queue} and state < 'active' and not blocked and start_after <= now()
      and priority <= 0
    order by priority desc limit 1`
}

const TIES_COUNTED = 1000
const WAITING_COUNTED = 1_000_000
/** The least priority, an int4; a queue that was never empty for two billion jobs is first in, first out. */
const LAST_TURN = -2_000_000_000
