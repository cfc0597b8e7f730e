import { deliverWebhook } from '../../jobs/deliver-webhook.ts'
import { retryDelaySeconds } from '../../jobs/rules/webhooks/backoff.ts'
import { batchCalls } from '../../jobs/batch-calls.ts'
import type { Sql, Transaction } from '../../sql/core/db.ts'
import { finishAttempts, startAttempts } from '../../sql/webhooks/delivery-attempts.ts'
import type {
  AttemptResult,
  EndedAttempt,
  NextAttempt,
} from '../../sql/webhooks/delivery-attempts.ts'
import { eventHeaders } from '../outbound/event-headers.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'
import { persistently } from '../runtime/settlement.ts'
import { postWebhook } from './post-webhook.ts'

/**
 * Makes one attempt. Its begin is committed before the POST and its end after it. A job that runs twice
 * finds its attempt begun and sends nothing, so that an attempt makes at most one request.
 */
export const deliverWebhookHandler = handler(deliverWebhook, async (payload, run) => {
  const { sql, orgId } = run
  const id = payload.delivery_id
  const started = await start(sql, { orgId, id, number: payload.attempt_no })
  if (!started) return
  const { event, attempt_no: number, max_attempts, webhook_url } = started
  const result = webhook_url ? await send(run, id, { ...started, webhook_url }) : NO_ADDRESS
  run.meter.webhookAttempted(event, result.error, result.duration_ms / 1000)
  const ended = { orgId, id, number, result }
  if (result.error === null || number === max_attempts) {
    const state = result.error === null ? 'delivered' : 'failed'
    await persistently(run.signal, () => finish(sql, { ...ended, state }))
    return
  }
  const waitForNext = async (tx: Transaction) => {
    const finished = await finishAttempts(tx, [{ ...ended, state: 'retry_wait' }])
    if (!finished.has(id)) return
    const { retrySchedule } = run.outbound
    await run.queue.enqueue(
      tx,
      deliverWebhook,
      { delivery_id: id, attempt_no: number + 1 },
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
  }
  await persistently(run.signal, () => run.queue.transaction(sql, waitForNext))
})

/** How many attempts begin, or end, in one statement: those that gather while the last one runs. */
const TOGETHER = 100

const start = batchCalls(async (sql: Sql, deliveries: NextAttempt[]) => {
  const started = await startAttempts(sql, deliveries)
  return deliveries.map(({ id }) => {
    const attempt = started.get(id)
    // When a job runs twice at once, only one run gets the attempt.
    started.delete(id)
    return attempt
  })
}, TOGETHER)

const finish = batchCalls(async (sql: Sql, ended: EndedAttempt[]) => {
  await finishAttempts(sql, ended)
  return ended
}, TOGETHER)

async function send(
  { outbound }: Run,
  id: string,
  delivery: { event: string; body: Buffer; webhook_url: string; secret: Buffer | null },
) {
  const { webhook_url, body } = delivery
  let headers
  try {
    headers = eventHeaders({ ...delivery, id }, outbound.masterKeys)
  } catch {
    return SECRET_UNREADABLE
  }
  return postWebhook(outbound.agents, webhook_url, body, headers)
}

/** The organization removed its address after the event. */
const NO_ADDRESS = unsent('no_address')
/** The secret was sealed with another master key. */
const SECRET_UNREADABLE = unsent('secret_unreadable')

function unsent(error: string): AttemptResult & { retryAfterSeconds?: number } {
  return { duration_ms: 0, status_code: null, error, response_excerpt: null }
}
