import { METRICS, quotaPeriod } from '../jobs/rules/plan.ts'
import type { Metric, Plan, Quotas } from '../jobs/rules/plan.ts'
import type { Queue } from '../jobs/queue.ts'
import type { Queryable, Transaction } from './db.ts'
import { emitEvent } from './deliveries.ts'

export interface Charge {
  readonly orgId: string
  readonly metric: Metric
  /** How many; rows that are really new, and no duplicates. */
  readonly n: number
  readonly quotas: Quotas
  readonly at: Date
}

/** Refused, it names how many would still fit. */
export type ChargeResult =
  { ok: true; current: number; limit: number } | { ok: false; left: number; limit: number }

/**
 * Counts what the transaction wrote, if it fits what is left of the month's quota; refused, nothing is
 * counted and the caller has to roll back. Locks the counter until the transaction ends, so it belongs
 * at the transaction's end. The charge that reaches the limit exactly still fits. Notifies the
 * organization when it is the first of the month to reach 80 % or 100 %.
 */
export async function chargeUsage(
  tx: Transaction,
  queue: Queue,
  charge: Charge,
): Promise<ChargeResult> {
  const { orgId, metric, n, quotas, at } = charge
  const period = quotaPeriod(at).start
  const plan = await findPlan(tx, orgId)
  const limit = quotas[metric][plan]
  const warnAt = Math.ceil(limit * WARN_SHARE)
  const [charged] = await tx<{ current: number; warned: boolean; reached: boolean }[]>`
    with clock as materialized (select clock_timestamp() as at)
    insert into usage as u (org_id, metric, period, current, lim, warned_at, reached_at)
    select ${orgId}, ${metric}, ${period}::date, ${n}::bigint, ${limit}::bigint,
      case when ${n}::bigint >= ${warnAt} then clock.at end,
      case when ${n}::bigint >= ${limit} then clock.at end
    from clock where ${n}::bigint <= ${limit}
    on conflict (org_id, metric, period) do update set
      current = u.current + ${n},
      lim = excluded.lim,
      -- A raised limit is a new one to come near to.
      warned_at = case when u.current + ${n} >= ${warnAt}
        then coalesce(case when excluded.lim <= u.lim then u.warned_at end, (select at from clock)) end,
      reached_at = case when u.current + ${n} >= ${limit}
        then coalesce(case when excluded.lim <= u.lim then u.reached_at end, (select at from clock)) end
    where u.current + ${n} <= excluded.lim
    returning u.current, coalesce(u.warned_at = (select at from clock), false) as warned,
      coalesce(u.reached_at = (select at from clock), false) as reached`
  if (!charged) {
    const used = await findCurrent(tx, orgId, metric, period)
    return { ok: false, left: Math.max(0, limit - used), limit }
  }
  const { current, warned, reached } = charged
  const usage = { metric, current, limit, plan }
  if (warned) await notify(tx, queue, 'usage.warning', orgId, usage, at)
  if (reached) await notify(tx, queue, 'usage.limit_reached', orgId, usage, at)
  return { ok: true, current, limit }
}

async function notify(
  tx: Transaction,
  queue: Queue,
  event: 'usage.warning' | 'usage.limit_reached',
  orgId: string,
  usage: { metric: Metric; current: number; limit: number; plan: Plan },
  at: Date,
) {
  const { start, end } = quotaPeriod(at)
  const period = { period_start: start.toISOString(), period_end: end.toISOString() }
  await emitEvent(tx, queue, orgId, event, { ...usage, ...period }, at)
}

/** How much of a metric is left in the month of `at`. */
export async function findUsageLeft(
  sql: Queryable,
  { orgId, metric, quotas, at }: Omit<Charge, 'n'>,
): Promise<{ left: number; limit: number }> {
  const limit = quotas[metric][await findPlan(sql, orgId)]
  const used = await findCurrent(sql, orgId, metric, quotaPeriod(at).start)
  return { left: Math.max(0, limit - used), limit }
}

/** What is used of every metric in the month of `at`. */
export async function readUsage(sql: Queryable, orgId: string, quotas: Quotas, at: Date) {
  const period = quotaPeriod(at)
  const [plan, rows] = await Promise.all([
    findPlan(sql, orgId),
    sql<{ metric: Metric; current: number }[]>`
      select metric, current from usage where org_id = ${orgId} and period = ${period.start}::date`,
  ])
  const metrics = METRICS.map((metric) => ({
    metric,
    current: rows.find((row) => row.metric === metric)?.current ?? 0,
    limit: quotas[metric][plan],
  }))
  return { plan, period_start: period.start, period_end: period.end, metrics }
}

async function findCurrent(sql: Queryable, orgId: string, metric: Metric, period: Date) {
  const [row] = await sql<{ current: number }[]>`
    select current from usage
    where org_id = ${orgId} and metric = ${metric} and period = ${period}::date`
  return row?.current ?? 0
}

async function findPlan(sql: Queryable, orgId: string): Promise<Plan> {
  const [row] = await sql<{ plan: Plan }[]>`
    select plan_in_force(plan, grace_period_ends) as plan from organizations where id = ${orgId}`
  if (!row) throw new Error(`There is no organization ${orgId}`)
  return row.plan
}

const WARN_SHARE = 0.8
