import { deliverWebhook } from '../../jobs/deliver-webhook.ts'
import { retryDelaySeconds } from '../../jobs/rules/backoff.ts'
import { openSecret } from '../../jobs/rules/secret-box.ts'
import { signBody } from '../../jobs/rules/signature.ts'
import type { Transaction } from '../../sql/db.ts'
import { finishAttempt, startAttempt } from '../../sql/deliveries.ts'
import type { AttemptResult } from '../../sql/deliveries.ts'
import { handler } from '../handler.ts'
import type { Run } from '../handler.ts'
import { postWebhook } from './post-webhook.ts'

/**
 * One attempt: committed as begun before the POST and as ended after it. A job that runs twice finds
 * its attempt begun and sends nothing, so that no attempt makes more than one request.
 */
export const deliverWebhookHandler = handler(deliverWebhook, async ({ delivery_id: id }, run) => {
  const { sql, orgId } = run
  const started = await startAttempt(sql, orgId, id)
  if (!started) return
  const { event, attempt_no: number, max_attempts, webhook_url } = started
  const result = webhook_url ? await send(run, id, { ...started, webhook_url }) : NO_ADDRESS
  run.meter.webhookAttempted(event, result.error, result.duration_ms / 1000)
  if (result.error === null || number === max_attempts) {
    const state = result.error === null ? 'delivered' : 'failed'
    await finishAttempt(sql, orgId, id, number, state, result)
    return
  }
  await run.queue.transaction(sql, async (tx: Transaction) => {
    if (!(await finishAttempt(tx, orgId, id, number, 'retry_wait', result))) return
    const { retrySchedule } = run.outbound
    await run.queue.enqueue(
      tx,
      deliverWebhook,
      { delivery_id: id },
      {
        orgId,
        startAfterSeconds: retryDelaySeconds(
          retrySchedule,
          number,
          Math.random(),
          result.retryAfterSeconds,
        ),
      },
    )
  })
})

async function send(
  { outbound }: Run,
  id: string,
  delivery: { event: string; body: Buffer; webhook_url: string; secret: Buffer | null },
) {
  const { event, body, webhook_url, secret } = delivery
  return postWebhook(outbound.agent, webhook_url, body, {
    'content-type': 'application/json',
    'user-agent': 'Service-Webhooks/1.0',
    'x-service-event': event,
    'x-service-event-id': id,
    ...(secret && {
      'x-service-signature': signBody(openSecret(outbound.masterKey, secret), body),
    }),
  })
}

/** The address was taken away after the event. */
const NO_ADDRESS: AttemptResult & { retryAfterSeconds?: number } = {
  duration_ms: 0,
  status_code: null,
  error: 'no_address',
  response_excerpt: null,
}
