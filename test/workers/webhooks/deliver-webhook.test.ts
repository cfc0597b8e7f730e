import t from 'tap'
import type { Test } from 'tap'
import { createHmac, randomBytes } from 'node:crypto'
import { sealSecret } from '../../../jobs/rules/core/secret-box.ts'
import { readMasterKey } from '../../../ops/outbound.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { emitEvent } from '../../../sql/transactions/emit-event.ts'
import {
  finishAttempts,
  settleLostAttempts,
  startAttempts,
} from '../../../sql/webhooks/delivery-attempts.ts'
import { setWebhookSecret } from '../../../sql/webhooks/notifications.ts'
import { deliverWebhook } from '../../../jobs/deliver-webhook.ts'
import { deadLetterName } from '../../../jobs/job.ts'
import type { LostClaim } from '../../../jobs/queue.ts'
import { settleLostDeliveries } from '../../../jobs/settle-lost-deliveries.ts'
import { redriveDeadLetters } from '../../../ops/dead-letters.ts'
import { settleLostDeliveriesHandler } from '../../../workers/maintenance/settle-lost-deliveries.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import { deliverWebhookHandler } from '../../../workers/webhooks/deliver-webhook.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { startReceiver } from '../../support/receiver.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const REGRESSION = {
  agent_name: 'a',
  manifest_id: 'm',
  version_label: 'v2',
  previous_version_label: 'v1',
  metric: 'quality',
  delta: -0.1,
  trace_sample_ids: [],
}
const MANIFEST = {
  agent_name: 'a',
  version_label: 'v2',
  previous_version_label: 'v1',
  manifest_id: 'm',
  traces_affected: 3,
}

t.test('webhook deliveries', async (t) => {
  const { receiver, service } = await openBoth(t, { WEBHOOK_RETRY_SCHEDULE: '0,0' })
  await service.startWorkers([deliverWebhookHandler], 20)
  const { sql } = service
  const { queue } = service.context

  async function makeReceiver(path: string, events?: string[]) {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const settings = { webhook_url: `${receiver.url}${path}`, ...(events && { events }) }
    t.match(await client.patch('/org/notifications', settings), { status: 200 })
    const emit = <E extends 'manifest.changed' | 'regression.detected'>(event: E) =>
      queue.transaction(sql, (tx: Transaction) =>
        emitEvent(
          tx,
          queue,
          org.orgId,
          event,
          (event === 'manifest.changed' ? MANIFEST : REGRESSION) as never,
          new Date(),
        ),
      )
    const ended = (id: string | undefined) =>
      until(async () => {
        const { body } = await client.get(`/org/webhook-deliveries/${id}`)
        return body.finished_at && body
      })
    return {
      ...org,
      client,
      emit,
      ended,
      of: (path_: string) => receiver.received.filter((r) => r.path === path_),
    }
  }

  t.test('how an attempt ended is stored though its connection is lost meanwhile', async (t) => {
    const org = await makeReceiver('/slow-headers', ['manifest.changed', 'regression.detected'])
    const [once, again] = [
      await org.emit('manifest.changed'),
      await org.emit('regression.detected'),
    ]
    const shown = async (id: string | undefined) =>
      (await org.client.get(`/org/webhook-deliveries/${id}`)).body
    await until(async () => org.of('/slow-headers').length === 2)
    await sql.begin(async (tx) => {
      await tx`select from deliveries where org_id = ${org.orgId} for update`
      await until(async () => (await countLockWaits(sql)) === 2)
      await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`
    })
    const timedOut = { number: 1, error: 'timeout' }
    t.match(await org.ended(once), { status: 'failed', error: 'timeout', attempts: [timedOut] })
    const next = await until(async () => {
      const { attempt_count, attempts } = await shown(again)
      return attempt_count > 1 && attempts
    })
    t.match(next, [timedOut, { number: 2 }])
  })

  t.test('an event reaches the receiver with envelope, headers and signature', async (t) => {
    const org = await makeReceiver('/200/envelope')
    const masterKey = await readMasterKey(service.config)
    await setWebhookSecret(sql, org.orgId, sealSecret(masterKey, Buffer.alloc(12, 1), 'whsec_x'))
    const id = await org.emit('manifest.changed')
    t.match(await org.ended(id), {
      status: 'delivered',
      attempt_count: 1,
      attempts: [{ number: 1, status_code: 200, error: null, response_excerpt: 'answer 200' }],
    })
    const [request] = org.of('/200/envelope')
    t.match(request?.headers, {
      'content-type': 'application/json',
      'user-agent': 'Service-Webhooks/1.0',
      'x-service-event': 'manifest.changed',
      'x-service-event-id': id,
    })
    const expected = createHmac('sha256', 'whsec_x')
      .update(request?.body ?? '')
      .digest('hex')
    t.equal(request?.headers['x-service-signature'], `sha256=${expected}`)
    const envelope = JSON.parse(String(request?.body)) as { timestamp: string; org_name: string }
    t.match(envelope, { event: 'manifest.changed', org_id: org.orgId, data: MANIFEST })
    t.match(envelope.timestamp, /^\d{4}-.*\+00:00$/)
  })

  t.test('without a secret there is no signature header', async (t) => {
    const org = await makeReceiver('/200/unsigned')
    await org.ended(await org.emit('manifest.changed'))
    t.notOk('x-service-signature' in (org.of('/200/unsigned')[0]?.headers ?? {}))
  })

  t.test('with a secret that cannot be opened nothing is sent, and this is told', async (t) => {
    const org = await makeReceiver('/200/sealed')
    await setWebhookSecret(sql, org.orgId, sealSecret(randomBytes(32), randomBytes(12), 'whsec_x'))
    const delivery = await org.ended(await org.emit('manifest.changed'))
    t.match(delivery, { status: 'failed', error: 'secret_unreadable', attempt_count: 1 })
    t.same(org.of('/200/sealed'), [])
  })

  t.test('an event that is sent once fails at its first failure', async (t) => {
    const org = await makeReceiver('/500/once')
    const delivery = await org.ended(await org.emit('manifest.changed'))
    t.match(delivery, { status: 'failed', attempt_count: 1, error: 'http_status' })
    t.equal(org.of('/500/once').length, 1)
  })

  t.test('regression.detected is tried three times with one id and the same bytes', async (t) => {
    const org = await makeReceiver('/500/thrice')
    const id = await org.emit('regression.detected')
    const delivery = await org.ended(id)
    t.match(delivery, { status: 'failed', attempt_count: 3 })
    t.equal(delivery.attempts.length, 3)
    const requests = org.of('/500/thrice')
    t.equal(requests.length, 3)
    t.same(new Set(requests.map(({ headers }) => headers['x-service-event-id'])), new Set([id]))
    t.same(new Set(requests.map(({ body }) => body.toString())).size, 1)
  })

  t.test('what is not selected, or has nowhere to go, is not written', async (t) => {
    const org = await makeReceiver('/200/selected', ['manifest.changed'])
    t.equal(await org.emit('regression.detected'), undefined)
    t.ok(await org.emit('manifest.changed'))
    await org.client.patch('/org/notifications', { webhook_url: null })
    t.equal(await org.emit('manifest.changed'), undefined)
    t.equal((await org.client.get('/org/webhook-deliveries')).body.total, 1)
  })

  t.test('every event is sent while none was ever selected', async (t) => {
    const org = await makeReceiver('/200/all')
    t.match((await org.client.get('/org/notifications')).body, { events_configured: false })
    t.ok(await org.emit('regression.detected'), 'which the reported default leaves out')
  })

  t.test('an attempt whose worker was lost is not repeated for an event sent once', async (t) => {
    const org = await makeReceiver('/200/lost')
    const once = await sql.begin((tx) => lose(tx, org.orgId, 'manifest.changed', 1))
    const thrice = await sql.begin((tx) => lose(tx, org.orgId, 'regression.detected', 3))
    const again = await sql.begin((tx) => settleLostAttempts(tx, 30))
    t.same(
      again.map(({ id }) => id),
      [thrice],
    )
    t.match(await org.ended(once), {
      status: 'failed',
      error: 'worker_lost',
      attempts: [{ error: 'worker_lost' }],
    })
    t.match((await org.client.get(`/org/webhook-deliveries/${thrice}`)).body, {
      status: 'retry_wait',
    })
    t.equal(org.of('/200/lost').length, 0)
    // Their worker was only late to say so.
    const result = { status_code: 200, error: null, duration_ms: 1, response_excerpt: '' }
    const ended = [once, thrice].map((id) => ({ orgId: org.orgId, id, number: 1, result }))
    const failed = ended.map((each) => ({ ...each, state: 'failed' as const }))
    t.equal((await finishAttempts(sql, failed)).size, 0, 'what did not arrive stays lost')
    const delivered = ended.map((each) => ({ ...each, state: 'delivered' as const }))
    t.equal((await finishAttempts(sql, delivered)).size, 2)
    for (const id of [once, thrice]) {
      t.match((await org.client.get(`/org/webhook-deliveries/${id}`)).body, {
        status: 'delivered',
        error: null,
        attempts: [{ status_code: 200, error: null }],
      })
    }
  })

  t.test('a delivery with several jobs at once is sent once', async (t) => {
    const org = await makeReceiver('/200/twice')
    const { orgId } = org
    const id = await queue.transaction(sql, async (tx: Transaction) => {
      const [row] = await tx<{ id: string }[]>`
        insert into deliveries (org_id, id, event, body, max_attempts)
        values (${orgId}, gen_random_uuid(), 'regression.detected', '{}', 3) returning id`
      const delivery_id = row?.id as string
      for (let i = 0; i < 10; i++)
        await queue.enqueue(tx, deliverWebhook, { delivery_id }, { orgId })
      return delivery_id
    })
    t.match(await org.ended(id), { status: 'delivered', attempts: [{ status_code: 200 }] })
    await until(async () => {
      const jobs = await service.boss.findJobs(deliverWebhook.name, {})
      return jobs.every(({ state }) => state === 'completed')
    })
    t.equal(org.of('/200/twice').length, 1)
  })

  t.test('a dead receiver delays nobody else', async (t) => {
    const slow = await makeReceiver('/slow-headers')
    const quick = await makeReceiver('/200/quick')
    const began = performance.now()
    for (let i = 0; i < 10; i++) await slow.emit('manifest.changed')
    await until(() => slow.of('/slow-headers').length >= 10)
    t.match(await quick.ended(await quick.emit('manifest.changed')), { status: 'delivered' })
    const open = await sql`
      select from deliveries where org_id = ${slow.orgId} and finished_at is null`
    // An attempt ends after five seconds.
    if (performance.now() - began < 5000) {
      t.ok(open.length > 0, `while ${open.length} of ten still wait for the dead one`)
    }
  })

  t.test(
    'redeliver sends the same bytes under a new id; the test event ignores the selection',
    async (t) => {
      const org = await makeReceiver('/200/again', [])
      const test = await org.client.post('/org/notifications/test')
      t.equal(test.status, 201)
      await org.ended(test.body.id)
      const again = await org.client.post(`/org/webhook-deliveries/${test.body.id}/redeliver`)
      t.match(again, { status: 201, body: { redelivery_of: test.body.id } })
      await org.ended(again.body.id)
      const [first, second] = org.of('/200/again')
      t.same(first?.body, second?.body)
      t.not(first?.headers['x-service-event-id'], second?.headers['x-service-event-id'])
      const other = await service.makeOrganization()
      const foreign = service.client(other.key)
      t.equal((await foreign.post(`/org/webhook-deliveries/${test.body.id}/redeliver`)).status, 404)
      t.equal((await foreign.get(`/org/webhook-deliveries/${test.body.id}`)).status, 404)
      t.equal((await foreign.post('/org/notifications/test')).status, 409)
    },
  )

  /** A delivery whose attempt began a minute ago and never ended. */
  async function lose(tx: Transaction, orgId: string, event: string, max: number) {
    const [row] = await tx<{ id: string }[]>`
      insert into deliveries (org_id, id, event, body, max_attempts)
      values (${orgId}, gen_random_uuid(), ${event}, ${Buffer.from('{}')}, ${max}) returning id`
    const id = row?.id as string
    await startAttempts(tx, [{ orgId, id }])
    await tx`update deliveries set attempted_at = now() - interval '1 minute' where id = ${id}`
    return id
  }
})

t.test('a job whose worker died after a failed attempt does not make the next one', async (t) => {
  const { receiver, service } = await openBoth(t, { WEBHOOK_RETRY_SCHEDULE: '3600,3600' })
  const { sql } = service
  const { queue } = service.context
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  await client.patch('/org/notifications', { webhook_url: `${receiver.url}/500` })
  await service.startWorkers([deliverWebhookHandler])
  const id = await queue.transaction(sql, (tx: Transaction) =>
    emitEvent(tx, queue, org.orgId, 'regression.detected', REGRESSION, new Date()),
  )
  const jobs = (state: string) => sql<{ id: string; data: LostClaim['data'] }[]>`
    select id, data from pgboss.job where name = ${deliverWebhook.name} and state = ${state}`
  const [first] = await until(async () => {
    const ended = await jobs('completed')
    return ended.length === 1 && ended
  })
  if (!first) throw new Error('No job')
  await queue.transaction(sql, (tx: Transaction) =>
    queue.enqueueLost(tx, {
      ...first,
      queue: deliverWebhook.name,
      key: null,
      retryCount: 0,
      retryLimit: 5,
    }),
  )
  await until(async () => (await jobs('completed')).length === 2)
  t.equal(receiver.received.length, 1)
  t.equal((await jobs('created')).length, 1, 'the next attempt waits for its time')
  t.match((await client.get(`/org/webhook-deliveries/${id}`)).body, {
    status: 'retry_wait',
    attempt_count: 1,
  })
})

t.test('a delivery whose job was given up', async (t) => {
  const { receiver, service } = await openBoth(t)
  const { sql, boss } = service
  const { queue } = service.context
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  await client.patch('/org/notifications', { webhook_url: `${receiver.url}/200/redriven` })
  const broken = handler(deliverWebhook, async () => {
    throw new Error('broken')
  })
  const worker = await service.startWorkers([broken, settleLostDeliveriesHandler])
  const id = await queue.transaction(sql, async (tx: Transaction) => {
    const emitted = await emitEvent(
      tx,
      queue,
      org.orgId,
      'regression.detected',
      REGRESSION,
      new Date(),
    )
    await tx`update pgboss.job set retry_limit = 0 where name = ${deliverWebhook.name}`
    return emitted
  })
  const shown = async () => (await client.get(`/org/webhook-deliveries/${id}`)).body
  const ended = () =>
    until(async () => {
      const body = await shown()
      return body.finished_at && body
    })
  await until(async () => (await boss.findJobs(deadLetterName(deliverWebhook.name))).length === 1)
  t.match(await shown(), { status: 'pending' })

  await queue.enqueue(sql, settleLostDeliveries, {}, { orgId: null })
  const failed = { status: 'failed', error: 'not_attempted', attempt_count: 0, attempts: [] }
  t.match(await ended(), failed)
  await worker.stop()

  await service.startWorkers([deliverWebhookHandler])
  const redriven = await redriveDeadLetters({ boss, sql, queue }, deliverWebhook.name, {
    limit: 10,
    dryRun: false,
  })
  t.match(redriven, { redriven: 1 })
  await until(async () => (await shown()).status === 'delivered')
  t.match(await shown(), { error: null, attempts: [{ number: 1, status_code: 200 }] })
  t.equal(receiver.received.length, 1)
})

/** A receiver, and a service that reaches it. */
async function openBoth(t: Test, more: Readonly<Record<string, string>> = {}) {
  const receiver = await startReceiver(t)
  const env = { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8', OUTBOUND_CA_FILE: receiver.caFile, ...more }
  return { receiver, service: await openService(t, { env }) }
}
