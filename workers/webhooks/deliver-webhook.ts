import { deliverWebhook } from '../../jobs/deliver-webhook.ts'
import { retryDelaySeconds } from '../../jobs/rules/backoff.ts'
import { openSecret } from '../../jobs/rules/secret-box.ts'
import { signBody } from '../../jobs/rules/signature.ts'
import { gather } from '../../jobs/gather.ts'
import type { Sql, Transaction } from '../../sql/db.ts'
import { finishAttempts, startAttempts } from '../../sql/deliveries.ts'
import type { AttemptResult, EndedAttempt } from '../../sql/deliveries.ts'
import { handler } from '../handler.ts'
import type { Run } from '../handler.ts'
import { postWebhook } from './post-webhook.ts'

/**
 * One attempt: committed as begun before the POST and as ended after it. A job that runs twice finds
 * its attempt begun and sends nothing, so that no attempt makes more than one request.
 */
export const deliverWebhookHandler = handler(deliverWebhook, async ({ delivery_id: id }, run) => {
  const { sql, orgId } = run
  const started = await start(sql, { orgId, id })
  if (!started) return
  const { event, attempt_no: number, max_attempts, webhook_url } = started
  const result = webhook_url ? await send(run, id, { ...started, webhook_url }) : NO_ADDRESS
  run.meter.webhookAttempted(event, result.error, result.duration_ms / 1000)
  const ended = { orgId, id, number, result }
  if (result.error === null || number === max_attempts) {
    await finish(sql, { ...ended, state: result.error === null ? 'delivered' : 'failed' })
    return
  }
  await run.queue.transaction(sql, async (tx: Transaction) => {
    const finished = await finishAttempts(tx, [{ ...ended, state: 'retry_wait' }])
    if (!finished.has(id)) return
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

/** Attempts begin, and end, together with those that do while the database works on others. */
const TOGETHER = 100

const start = gather(async (sql: Sql, deliveries: { orgId: string; id: string }[]) => {
  const started = await startAttempts(sql, deliveries)
  return deliveries.map(({ id }) => {
    const attempt = started.get(id)
    // A job that runs twice at once gets it once.
    started.delete(id)
    return attempt
  })
}, TOGETHER)

const finish = gather(async (sql: Sql, ended: EndedAttempt[]) => {
  await finishAttempts(sql, ended)
  return ended
}, TOGETHER)

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
