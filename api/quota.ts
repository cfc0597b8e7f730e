import { quotaPeriod } from '../jobs/rules/org/plan.ts'
import type { Metric } from '../jobs/rules/org/plan.ts'
import { describeRefusal } from '../jobs/rules/org/quota-refusal.ts'
import type { QuotaRefusal } from '../jobs/rules/org/quota-refusal.ts'
import type { Transaction } from '../sql/core/db.ts'
import { findUsageLeft } from '../sql/org/usage.ts'
import { chargeUsage } from '../sql/transactions/charge-usage.ts'
import type { ApiContext } from './context.ts'
import { ApiError } from './errors.ts'
import type { Principal } from './principal.ts'

/**
 * Counts `n` rows that the transaction wrote. Call it last in the transaction.
 * @throws ApiError 402, which rolls the transaction back, when they do not fit the month's quota
 */
export async function charge(
  context: ApiContext,
  tx: Transaction,
  { orgId }: Principal,
  metric: Metric,
  n: number,
) {
  if (n === 0) return
  const at = context.now()
  const charged = await chargeUsage(tx, context.queue, {
    orgId,
    metric,
    n,
    quotas: context.quotas,
    at,
  })
  if (!charged.ok) throw quotaExceeded({ metric, asked: n, ...charged }, at)
}

/** @throws ApiError 402 when nothing of the month's quota is left */
export async function requireQuota(context: ApiContext, { orgId }: Principal, metric: Metric) {
  const at = context.now()
  const { quotas } = context
  const { left, limit } = await findUsageLeft(context.sql, { orgId, metric, quotas, at })
  if (left === 0) throw quotaExceeded({ metric, limit, left }, at)
}

/** 402 for what the quota of the month does not hold. */
export function quotaExceeded(refusal: QuotaRefusal, at: Date) {
  const seconds = Math.ceil((quotaPeriod(at).end.getTime() - at.getTime()) / 1000)
  return new ApiError(402, 'quota_exceeded', describeRefusal(refusal), {
    headers: { 'X-Quota-Exceeded': refusal.metric },
    members: { resets_in_seconds: seconds },
  })
}
