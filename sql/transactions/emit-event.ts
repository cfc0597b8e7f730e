import { deliverWebhook } from '../../jobs/deliver-webhook.ts'
import type { Queue } from '../../jobs/queue.ts'
import { envelopeBytes, maxAttempts } from '../../jobs/rules/webhooks/webhook-event.ts'
import type { EventData } from '../../jobs/rules/webhooks/webhook-event.ts'
import type { Transaction } from '../core/db.ts'
import { findDeliveryBody, insertDelivery } from '../webhooks/deliveries.ts'
import { findReceiver } from '../webhooks/notifications.ts'

/**
 * Writes a delivery and its job in the transaction that makes the change the event reports. Writes
 * nothing when the organization has no address or has not selected the event; `test` need not be selected.
 * Returns the delivery's id.
 */
export async function emitEvent<E extends keyof EventData>(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  event: E,
  data: EventData[E],
  at: Date,
): Promise<string | undefined> {
  const receiver = await findReceiver(tx, orgId)
  if (!receiver?.webhook_url) return undefined
  if (event !== 'test' && receiver.events && !receiver.events.includes(event)) return undefined
  const body = envelopeBytes(event, { id: orgId, name: receiver.org_name }, data, at)
  return startDelivery(tx, queue, orgId, { event, body, max_attempts: maxAttempts(event) })
}

/** A new delivery of the same bytes, or undefined when there is no such delivery. */
export async function redeliver(tx: Transaction, queue: Queue, orgId: string, id: string) {
  const original = await findDeliveryBody(tx, orgId, id)
  return (
    original && startDelivery(tx, queue, orgId, { ...original, max_attempts: 1, redelivery_of: id })
  )
}

async function startDelivery(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  delivery: Parameters<typeof insertDelivery>[2],
) {
  const delivery_id = await insertDelivery(tx, orgId, delivery)
  await queue.enqueue(tx, deliverWebhook, { delivery_id, attempt_no: 1 }, { orgId })
  return delivery_id
}
