import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { clearOrgLimit, listOrgLimits, setOrgLimit } from '../../../sql/jobs/queue-control.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import { takeJobs } from '../../../workers/runtime/take.ts'
import { gate, openQueues } from '../../support/queues.ts'
import { until } from '../../support/until.ts'

t.test('the limit of an organization in a queue', async (t) => {
  const queues = await openQueues(t)
  const { sql, service, org } = queues
  const other = await service.makeOrganization()

  /** Jobs that run until they are let go, oldest first. */
  async function startHolding(slots = 4) {
    const declared = await queues.declare()
    const running: { orgId: string; end: () => void }[] = []
    let most = 0
    let isOver = false
    const work = handler(declared, async (_, { orgId }) => {
      const { opened, open } = gate()
      const one = { orgId, end: open }
      running.push(one)
      most = Math.max(most, countOf(org.orgId))
      if (!isOver) await opened
      running.splice(running.indexOf(one), 1)
    })
    const countOf = (orgId: string) => running.filter((one) => one.orgId === orgId).length
    const limit = { queue: declared.name, org_id: org.orgId, reason: 'too many' }
    const letGo = () => {
      isOver = true
      for (const { end } of running) end()
    }
    const start = () => queues.start(work, slots)
    return { declared, running, countOf, limit, start, letGo, most: () => most }
  }

  t.test('pauses it alone, and whoever is set free goes on at once', async (t) => {
    const { declared, countOf, limit, start, letGo } = await startHolding()
    await setOrgLimit(sql, { ...limit, paused: true, max_running: null })
    await start()
    await queues.enqueue(declared, [1, 2, 3])
    await queues.enqueue(declared, [4], other)
    await until(() => countOf(other.orgId) === 1)
    t.equal(countOf(org.orgId), 0)
    t.match(await listOrgLimits(sql, { queue: declared.name }), [
      { org_id: org.orgId, paused: true, max_running: null, reason: 'too many' },
    ])
    t.equal(await clearOrgLimit(sql, limit), true)
    await until(() => countOf(org.orgId) === 3)
    t.equal(await clearOrgLimit(sql, limit), false)
    letGo()
  })

  t.test('holds over all processes together, and when it is changed while they run', async (t) => {
    const { declared, running, countOf, limit, start, letGo, most } = await startHolding()
    await setOrgLimit(sql, { ...limit, paused: false, max_running: 2 })
    await Promise.all([start(), start(), start()])
    await queues.enqueue(declared, Array(12).keys().toArray())
    await queues.enqueue(declared, [1, 2, 3], other)
    await until(() => countOf(other.orgId) === 3 && countOf(org.orgId) === 2)
    for (let n = 0; n < 6; n++) {
      const [first] = running.filter(({ orgId }) => orgId === org.orgId)
      first?.end()
      await until(() => countOf(org.orgId) === 2 && !running.includes(first as never))
    }
    t.equal(most(), 2)
    await setOrgLimit(sql, { ...limit, paused: false, max_running: 4 })
    await until(() => countOf(org.orgId) === 4)
    t.equal(most(), 4)
    letGo()
  })

  t.test('makes no fetch look through what it holds back', async (t) => {
    const declared = await queues.declare()
    const { queue } = service.context
    await queue.transaction(sql, async (tx: Transaction) => {
      await tx`
        insert into pgboss.job (name, data, group_id, priority, policy)
        select ${declared.name}, jsonb_build_object('org_id', ${org.orgId}::text, 'payload', '{"n": 1}'::jsonb),
          ${org.orgId}, -n, 'standard' from generate_series(1, 20000) n`
    })
    await queues.enqueue(declared, [7], other)
    await sql`analyze pgboss.job`
    const limit = { queue: declared.name, org_id: org.orgId, paused: true, max_running: null }
    const slots = { total: 4, free: () => 4, held: () => new Map() }
    const { jobs, rows } = await sql.begin(async (tx) => {
      const before = await countRead(tx)
      const limits = [{ ...limit, reason: null }]
      const savepoint = {
        begin: (work: (tx: Transaction) => unknown) => tx.savepoint(work as never),
      }
      const taken = await takeJobs(service.boss, savepoint as never, declared.name, slots, limits)
      return { jobs: taken.jobs, rows: (await countRead(tx)) - before }
    })
    t.match(jobs, [{ data: { org_id: other.orgId, payload: { n: 7 } } }])
    t.ok(rows < 200, `${rows} of 20,001 rows were read`)
  })

  /** Rows of the queues that this transaction has read so far. */
  async function countRead(tx: Transaction) {
    const [row] = await tx<{ n: number }[]>`
      select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int as n
      from pg_stat_xact_user_tables where schemaname = 'pgboss' and relname like 'job%'`
    return row?.n ?? 0
  }
})
