import t from 'tap'
import { once } from 'node:events'
import type { Transaction } from '../../sql/core/db.ts'
import { emitEvent } from '../../sql/transactions/emit-event.ts'
import { settleLostAttempts } from '../../sql/webhooks/delivery-attempts.ts'
import { deliverWebhook } from '../../jobs/deliver-webhook.ts'
import { startReceiver } from '../support/receiver.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startWorkerProcess } from '../support/worker-process.ts'
import { LONG } from './stage.ts'

const DELIVERIES = LONG ? 2000 : 150
const KILLS = LONG ? 50 : 3

/** Two of three events are sent only once; the third may be sent three times. */
const EVENTS = ['manifest.changed', 'usage.warning', 'regression.detected'] as const

t.test('workers killed in the middle of webhook deliveries', async (t) => {
  const receiver = await startReceiver(t)
  const env = {
    OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
    OUTBOUND_CA_FILE: receiver.caFile,
    WEBHOOK_RETRY_SCHEDULE: '0,0',
  }
  const service = await openService(t, { env })
  const { sql, context } = service
  const org = await service.makeOrganization()
  const settings = { webhook_url: `${receiver.url}/200` }
  t.match(await service.client(org.key).patch('/org/notifications', settings), { status: 200 })

  const startWorker = () => startWorkerProcess(service, 'webhooks,maintenance', env)

  const emitted = new Map<string, string>()
  async function emit(count: number) {
    for (let i = 0; i < count; i++) {
      const event = EVENTS[i % EVENTS.length] as (typeof EVENTS)[number]
      const id = await context.queue.transaction(sql, (tx: Transaction) =>
        emitEvent(tx, context.queue, org.orgId, event, {} as never, new Date()),
      )
      if (id) emitted.set(id, event)
    }
  }

  let worker = await startWorker()
  for (let kill = 0; kill < KILLS; kill++) {
    const before = receiver.received.length
    await emit(Math.ceil(DELIVERIES / KILLS))
    // Somewhere in the middle of what was just put in.
    await until(() => receiver.received.length > before + (kill % 7))
    worker.kill('SIGKILL')
    await once(worker, 'exit')
    worker = await startWorker()
  }
  await until(async () => {
    await settleLost()
    // Also the jobs of killed workers, which are run again and must find their attempt begun.
    const [left] = await sql<{ n: number }[]>`
      select count(*)::int as n from (
        select from deliveries where finished_at is null
        union all
        select from pgboss.job where name = ${deliverWebhook.name} and state < 'completed') as open`
    return left?.n === 0
  })
  worker.kill('SIGTERM')
  await once(worker, 'exit')

  const requests = new Map<string, number>()
  for (const { headers } of receiver.received) {
    const id = String(headers['x-service-event-id'])
    requests.set(id, (requests.get(id) ?? 0) + 1)
  }
  const rows = await sql<
    { id: string; event: string; state: string; error: string | null; attempt_no: number }[]
  >`
    select id, event, state, error, attempt_no from deliveries`
  t.equal(rows.length, emitted.size, 'every delivery is accounted for')
  const twice = rows.filter(
    ({ id, event }) => event !== 'regression.detected' && (requests.get(id) ?? 0) > 1,
  )
  t.same(twice, [], 'no event that is sent once was sent twice')
  const beyond = rows.filter(({ id, attempt_no }) => (requests.get(id) ?? 0) > attempt_no)
  t.same(beyond, [], 'no attempt made more than one request')
  const lost = rows.filter(({ id, state }) => state === 'delivered' && !requests.has(id))
  t.same(lost, [], 'nothing is called delivered that was not')
  const retried = rows.filter(
    ({ event, state }) => event === 'regression.detected' && state !== 'delivered',
  )
  t.same(retried, [], 'what may be retried arrived')
  const unknown = rows.filter(({ state }) => state === 'failed')
  t.same(
    unknown.filter(({ error }) => error !== 'worker_lost'),
    [],
    'every unknown is said to be one',
  )
  t.comment(`${rows.length} deliveries, ${KILLS} kills, ${unknown.length} unknown`)

  /** What the sweep of the maintenance pool does each minute, without its patience. */
  async function settleLost() {
    await context.queue.transaction(sql, async (tx: Transaction) => {
      for (const { org_id: orgId, id, attempt_no } of await settleLostAttempts(tx, 6)) {
        const next = { delivery_id: id, attempt_no: attempt_no + 1 }
        await context.queue.enqueue(tx, deliverWebhook, next, { orgId })
      }
    })
  }
})
