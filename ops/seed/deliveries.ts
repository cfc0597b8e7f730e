import { setTimeout } from 'node:timers/promises'
import { hashKey } from '../../jobs/rules/access/api-key.ts'
import { findKeyByHash } from '../../sql/access/api-keys.ts'
import { openDatabase } from '../../sql/core/db.ts'
import type { Sql, Transaction } from '../../sql/core/db.ts'
import { finishAttempts, startAttempts } from '../../sql/webhooks/delivery-attempts.ts'
import { findDeliveryBody, insertDelivery } from '../../sql/webhooks/deliveries.ts'
import type { ApiClient } from '../api-client.ts'

/**
 * A delivery that is sent again, and delivered this time. Nothing is sent: no receiver is there, and the
 * workers reach none on this machine. The rows are stored as a worker stores them, so that there is
 * something to show beside what failed.
 */
export async function storeDelivered(client: ApiClient, { url, key }: Stored) {
  const list = (filter: string) =>
    client.get<DeliveriesAnswer>(`/org/webhook-deliveries?limit=1&${filter}`)
  if ((await list('status=delivered')).deliveries.length > 0) return
  const [first] = (await list('event=manifest.changed')).deliveries
  if (!first) return
  const sql = openDatabase(url, { max: 1, pooled: true })
  try {
    await deliver(sql, hashKey(key), first.id)
  } finally {
    await sql.end()
  }
}

async function deliver(sql: Sql, keyHash: Buffer, firstId: string) {
  const orgId = (await findKeyByHash(sql, keyHash))?.org_id
  const sent = orgId && (await findDeliveryBody(sql, orgId, firstId))
  if (!sent) return
  const id = await sql.begin(async (tx: Transaction) => {
    const again = { ...sent, max_attempts: 1, redelivery_of: firstId }
    const id = await insertDelivery(tx, orgId, again)
    await startAttempts(tx, [{ orgId, id }])
    return id
  })
  await setTimeout(ANSWER.duration_ms)
  await finishAttempts(sql, [{ orgId, id, number: 1, state: 'delivered', result: ANSWER }])
}

const ANSWER = {
  duration_ms: 84,
  status_code: 200,
  error: null,
  response_excerpt: '{"ok":true}',
}

/** Where rows are stored, and a raw key of the organization they belong to. */
interface Stored {
  readonly url: string
  readonly key: string
}
interface DeliveriesAnswer {
  readonly deliveries: readonly { readonly id: string }[]
}
