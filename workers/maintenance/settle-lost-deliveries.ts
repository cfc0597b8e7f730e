import { deliverWebhook } from '../../jobs/deliver-webhook.ts'
import { settleLostDeliveries } from '../../jobs/settle-lost-deliveries.ts'
import { failUnattempted, settleLostAttempts } from '../../sql/webhooks/delivery-attempts.ts'
import { transactionalHandler } from '../runtime/handler.ts'

/** Retries at once what may be retried: its interval has passed before the loss was found. */
export const settleLostDeliveriesHandler = transactionalHandler(
  settleLostDeliveries,
  async (_, { queue, log }, tx) => {
    const again = await settleLostAttempts(tx, LOST_AFTER_SECONDS)
    for (const { org_id: orgId, id, attempt_no } of again) {
      log.warn({ delivery_id: id }, 'the worker of a webhook attempt was lost')
      const next = { delivery_id: id, attempt_no: attempt_no + 1 }
      await queue.enqueue(tx, deliverWebhook, next, { orgId })
    }
    for (const { id } of await failUnattempted(tx)) {
      log.error(
        { delivery_id: id },
        'a webhook attempt could not begin; its job is in the dead letters',
      )
    }
  },
)

/** An attempt takes at most 5 s, and a moment to be stored. */
const LOST_AFTER_SECONDS = 30
