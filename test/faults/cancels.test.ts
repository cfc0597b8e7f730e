import t from 'tap'
import { setTimeout } from 'node:timers/promises'
import { handler } from '../../workers/runtime/handler.ts'
import { openQueues } from '../support/queues.ts'
import { until } from '../support/until.ts'
import { LONG } from './stage.ts'
import { checkPace } from './pace.ts'

const RACES = LONG ? 1000 : 150

t.test('F12: a cancel', async (t) => {
  const queues = await openQueues(t)
  const { service, sql, org, find } = queues
  const client = service.client(org.key)
  const cancel = (id: string) => client.post(`/jobs/${id}/cancel`)
  await sql`create table endings (job_id uuid not null)`
  await sql.unsafe(`
    create function witness() returns trigger language plpgsql as $$ begin
      insert into endings values (new.id); return null;
    end $$;
    create trigger witness after update on jobs for each row
      when (new.finished_at is not null) execute function witness();`)

  t.test('of a waiting job ends it at once, and again changes nothing', async (t) => {
    const declared = await queues.declare()
    const id = await queues.submit(declared)
    t.match(await cancel(id), { status: 200, body: { state: 'canceled', done: true } })
    t.match(await cancel(id), { status: 200, body: { state: 'canceled' } })
    let runs = 0
    const { stop } = await queues.start(handler(declared, async () => void runs++))
    const next = await queues.submit(declared)
    await queues.ended(next)
    t.equal(runs, 1, 'it is not run')
    await stop()
  })

  t.test('of a running job aborts its handler within a second, and twice is once', async (t) => {
    const declared = await queues.declare()
    let abortedAt = 0
    const { pools, stop } = await queues.start(
      handler(declared, async (_, { signal }) => {
        await setTimeout(30_000, undefined, { signal }).finally(() => {
          abortedAt = performance.now()
        })
      }),
    )
    const id = await queues.submit(declared)
    await until(() => pools.running() === 1)
    const [first, second] = await Promise.all([cancel(id), cancel(id)])
    const canceledAt = performance.now()
    for (const { status } of [first, second]) t.ok([200, 202].includes(status))
    t.match(await queues.ended(id), { state: 'canceled' })
    checkPace(t, (abortedAt - canceledAt) / 1000, 1, 'aborted')
    await stop()
  })

  t.test('of a job that waits for its next attempt ends it at once', async (t) => {
    const declared = await queues.declare({ retryDelaySeconds: 600, retryDelayMaxSeconds: 600 })
    const { stop } = await queues.start(
      handler(declared, async () => {
        throw new Error('later')
      }),
    )
    const id = await queues.submit(declared)
    await until(async () => (await find(id))?.error !== null)
    t.match(await cancel(id), { status: 200, body: { state: 'canceled' } })
    const rows = await sql`
      select from pgboss.job where name = ${declared.name} and state < 'completed'`
    t.equal(rows.length, 0)
    await stop()
  })

  t.test('of a finished job is refused', async (t) => {
    const declared = await queues.declare()
    const { stop } = await queues.start(handler(declared, async () => {}))
    const id = await queues.submit(declared)
    await queues.ended(id)
    t.match(await cancel(id), { status: 409 })
    await stop()
  })

  t.test(`racing completion ${RACES} times leaves one final state`, async (t) => {
    const declared = await queues.declare()
    const { stop } = await queues.start(
      handler(declared, async ({ n }, { signal }) => {
        await setTimeout(n, undefined, { signal })
      }),
      8,
    )
    await sql`delete from endings`
    const outcomes = new Map<string, number>()
    async function race() {
      const id = await queues.submit(declared, Math.floor(Math.random() * 12))
      await setTimeout(Math.random() * 30)
      const { status } = await cancel(id)
      const { state } = await queues.ended(id)
      const told = `${status} ${state}`
      outcomes.set(told, (outcomes.get(told) ?? 0) + 1)
    }
    for (let left = RACES; left > 0; left -= 10) {
      await Promise.all(Array.from({ length: Math.min(10, left) }, race))
    }
    t.comment(Object.fromEntries(outcomes))
    t.ok(outcomes.size > 1, 'both have won')
    const allowed = ['200 canceled', '202 canceled', '202 succeeded', '409 succeeded']
    t.same(
      [...outcomes.keys()].filter((told) => !allowed.includes(told)),
      [],
      'what the client was told held',
    )
    const twice = await sql`select job_id from endings group by 1 having count(*) > 1`
    t.equal(twice.length, 0)
    const rows = await sql`
      select from pgboss.job where name = ${declared.name} and state < 'completed'`
    t.equal(rows.length, 0, 'nothing is left in the queue')
    await stop()
  })
})
