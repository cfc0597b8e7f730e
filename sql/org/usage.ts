import { METRICS, quotaPeriod } from '../../jobs/rules/org/plan.ts'
import type { Metric, Plan, Quotas } from '../../jobs/rules/org/plan.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { findRetention } from './organizations.ts'

/** What a transaction adds to the usage of an organization. */
export interface Charge {
  readonly orgId: string
  readonly metric: Metric
  /** Counts only rows that are new; duplicates are free. */
  readonly n: number
  readonly quotas: Quotas
  readonly at: Date
}

/** `warned` and `reached` are true for the first charge of the month that reaches 80 % or 100 %. */
export interface AddedUsage {
  current: number
  warned: boolean
  reached: boolean
}

/**
 * Counts a charge if the limit holds it; undefined, with nothing counted, when it does not. Locks the
 * counter until the transaction ends.
 */
export async function addUsage(
  tx: Transaction,
  { orgId, metric, n, at }: Charge,
  limit: number,
): Promise<AddedUsage | undefined> {
  const period = quotaPeriod(at).start
  const warnAt = Math.ceil(limit * WARN_SHARE)
  const [added] = await tx<AddedUsage[]>`
    with clock as materialized (select clock_timestamp() as at)
    insert into usage as u (org_id, metric, period, current, lim, warned_at, reached_at)
    select ${orgId}, ${metric}, ${period}::date, ${n}::bigint, ${limit}::bigint,
      case when ${n}::bigint >= ${warnAt} then clock.at end,
      case when ${n}::bigint >= ${limit} then clock.at end
    from clock where ${n}::bigint <= ${limit}
    on conflict (org_id, metric, period) do update set
      current = u.current + ${n},
      lim = excluded.lim,
      -- Near a raised limit, warnings are sent again.
      warned_at = case when u.current + ${n} >= ${warnAt}
        then coalesce(case when excluded.lim <= u.lim then u.warned_at end, (select at from clock)) end,
      reached_at = case when u.current + ${n} >= ${limit}
        then coalesce(case when excluded.lim <= u.lim then u.reached_at end, (select at from clock)) end
    where u.current + ${n} <= excluded.lim
    returning u.current, coalesce(u.warned_at = (select at from clock), false) as warned,
      coalesce(u.reached_at = (select at from clock), false) as reached`
  return added
}

/** How much of a metric is left in the month of `at`. */
export async function findUsageLeft(
  sql: Queryable,
  { orgId, metric, quotas, at }: Omit<Charge, 'n'>,
): Promise<{ left: number; limit: number }> {
  const limit = quotas[metric][await findPlan(sql, orgId)]
  const used = await findUsed(sql, { orgId, metric, at })
  return { left: Math.max(0, limit - used), limit }
}

/** How much of a metric is used in the month of `at`. */
export async function findUsed(
  sql: Queryable,
  { orgId, metric, at }: Pick<Charge, 'orgId' | 'metric' | 'at'>,
): Promise<number> {
  const [row] = await sql<{ current: number }[]>`
    select current from usage
    where org_id = ${orgId} and metric = ${metric} and period = ${quotaPeriod(at).start}::date`
  return row?.current ?? 0
}

/** What is used of every metric in the month of `at`, and for how many days traces are kept; null for ever. */
export async function readUsage(sql: Queryable, orgId: string, quotas: Quotas, at: Date) {
  const period = quotaPeriod(at)
  const [plan, trace_retention_days, rows] = await Promise.all([
    findPlan(sql, orgId),
    findRetention(sql, orgId),
    sql<{ metric: Metric; current: number }[]>`
      select metric, current from usage where org_id = ${orgId} and period = ${period.start}::date`,
  ])
  const metrics = METRICS.map((metric) => ({
    metric,
    current: rows.find((row) => row.metric === metric)?.current ?? 0,
    limit: quotas[metric][plan],
  }))
  return { plan, trace_retention_days, period_start: period.start, period_end: period.end, metrics }
}

/** The plan that is in force now. */
export async function findPlan(sql: Queryable, orgId: string): Promise<Plan> {
  const [row] = await sql<{ plan: Plan }[]>`
    select plan_in_force(plan, grace_period_ends) as plan from organizations where id = ${orgId}`
  if (!row) throw new Error(`There is no organization ${orgId}`)
  return row.plan
}

const WARN_SHARE = 0.8
