import type { Queue } from '../../jobs/queue.ts'
import { quotaPeriod } from '../../jobs/rules/org/plan.ts'
import type { EventData } from '../../jobs/rules/webhooks/webhook-event.ts'
import type { Transaction } from '../core/db.ts'
import { addUsage, findPlan, findUsed } from '../org/usage.ts'
import type { Charge } from '../org/usage.ts'
import { emitEvent } from './emit-event.ts'

/** In a refusal, `left` is how many would still fit. */
export type ChargeResult =
  { ok: true; current: number; limit: number } | { ok: false; left: number; limit: number }

/**
 * Counts what the transaction wrote if it fits the rest of the month's quota. When it is refused,
 * nothing is counted and the caller has to roll back. A charge that reaches the limit exactly fits.
 * Locks the counter until the transaction ends, so it belongs at the transaction's end. The first
 * charge of the month that reaches 80 % or 100 % emits an event.
 */
export async function chargeUsage(
  tx: Transaction,
  queue: Queue,
  charge: Charge,
): Promise<ChargeResult> {
  const { orgId, metric, quotas, at } = charge
  const plan = await findPlan(tx, orgId)
  const limit = quotas[metric][plan]
  const added = await addUsage(tx, charge, limit)
  if (!added) return { ok: false, left: Math.max(0, limit - (await findUsed(tx, charge))), limit }
  const { current, warned, reached } = added
  const { start, end } = quotaPeriod(at)
  const usage: EventData['usage.warning'] = {
    metric,
    current,
    limit,
    plan,
    period_start: start.toISOString(),
    period_end: end.toISOString(),
  }
  if (warned) await emitEvent(tx, queue, orgId, 'usage.warning', usage, at)
  if (reached) await emitEvent(tx, queue, orgId, 'usage.limit_reached', usage, at)
  return { ok: true, current, limit }
}
