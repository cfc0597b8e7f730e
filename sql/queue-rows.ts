import type { Queryable } from './db.ts'

/**
 * The queue library's own rows, for what it has no function for: taking turns, finding what waits,
 * and comparing them with ours. Nothing is written here.
 */

/**
 * The priority at which an organization's next job in a queue takes its turn. Priorities count down
 * as in start-time fair queueing: a job stands one behind the organization's last waiting one, or
 * beside the queue's first when it has none, whichever is later. So organizations alternate however
 * much each of them has waiting, nobody saves up turns while idle, and an empty queue begins at 0
 * again. Two look-ups in indexes, whatever the depth of the queue.
 *
 * Transactions that run side by side do not see each other's jobs and may take the same turn; the
 * next one then steps back by as many, up to `TIES_COUNTED`.
 */
export async function findTurn(sql: Queryable, queue: string, orgId: string): Promise<number> {
  const [row] = await sql<{ turn: number }[]>`
    with last as (
      select priority from pgboss.job
      where name = ${queue} and state < 'active' and group_id = ${orgId}
      order by priority limit 1
    ), ties as (
      select count(*)::int as n from (
        select from pgboss.job join last using (priority)
        where name = ${queue} and state < 'active' and group_id = ${orgId}
        limit ${TIES_COUNTED}) as counted
    )
    select greatest(${LAST_TURN}::int, least(0,
      (${firstPriority(sql, queue)}),
      (select last.priority - ties.n from last, ties))) as turn`
  return row?.turn ?? 0
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

/** The version of the library's schema; undefined before it is installed. */
export async function findQueueSchema(sql: Queryable): Promise<number | undefined> {
  const [row] = await sql<{ exists: boolean }[]>`
    select to_regclass('pgboss.version') is not null as exists`
  if (!row?.exists) return undefined
  const [found] = await sql<{ version: number }[]>`select version::int from pgboss.version`
  return found?.version
}

/** What the look-ups of turns need; the library has no index by group for what waits. */
export async function ensureTurnIndex(sql: Queryable) {
  const [row] = await sql<{ exists: boolean }[]>`
    select to_regclass('pgboss.job_turns') is not null as exists`
  if (row?.exists) return
  await sql`
    create index if not exists job_turns
    on pgboss.job_common (name, group_id, priority, start_after) where state < 'active'`
}

/** Of what could run now; priorities above 0 are no turns. */
function firstPriority(sql: Queryable, queue: string) {
  return sql`
    select priority from pgboss.job
    where name = ${queue} and state < 'active' and not blocked and start_after <= now()
      and priority <= 0
    order by priority desc limit 1`
}

const TIES_COUNTED = 1000
/** The least priority, an int4; a queue that was never empty for two billion jobs is first in, first out. */
const LAST_TURN = -2_000_000_000

/** Seconds since the queues were last looked over; undefined when they never were. */
export async function findSupervisionAge(sql: Queryable) {
  const [row] = await sql<{ age: number | null }[]>`
    select extract(epoch from now() - max(monitor_on))::float8 as age from pgboss.queue`
  return row?.age ?? undefined
}
