import t from 'tap'
import { DEFAULT_QUOTAS, quotaPeriod } from '../../../jobs/rules/org/plan.ts'
import type { Metric } from '../../../jobs/rules/org/plan.ts'
import { readUsage } from '../../../sql/org/usage.ts'
import { chargeUsage } from '../../../sql/transactions/charge-usage.ts'
import { openTestDatabase } from '../../support/database.ts'
import { makeOrganization } from '../../support/service.ts'

t.test('usage', async (t) => {
  const { sql } = await openTestDatabase(t)
  const at = new Date('2026-02-14T12:00:00Z')
  const metric: Metric = 'sft_rows'

  async function makeCharger(limit: number) {
    const { orgId } = await makeOrganization(sql, 'free')
    const quotas = {
      ...DEFAULT_QUOTAS,
      [metric]: { free: limit, core: 2 * limit, pro: 3 * limit, enterprise: 4 * limit },
    }
    const chargeAt = (n: number, when = at) =>
      sql.begin((tx) => chargeUsage(tx, NO_QUEUE, { orgId, metric, n, quotas, at: when }))
    /** When the thresholds were first reached. */
    const marks = async () => {
      const [row] = await sql<{ warned: boolean; reached: boolean }[]>`
        select warned_at is not null as warned, reached_at is not null as reached
        from usage where org_id = ${orgId} order by period desc limit 1`
      return row
    }
    const current = async (when = at) => {
      const { metrics } = await readUsage(sql, orgId, quotas, when)
      return metrics.find((row) => row.metric === metric)?.current
    }
    return { orgId, quotas, charge: chargeAt, current, marks }
  }

  t.test('is exact under concurrency', async (t) => {
    const { charge, current } = await makeCharger(1000)
    const results = await Promise.all(Array.from({ length: 400 }, () => charge(3)))
    t.equal(results.filter(({ ok }) => ok).length, 333)
    t.equal(await current(), 999)
    t.match(await charge(2), { ok: false, left: 1, limit: 1000 })
    t.match(await charge(1), { ok: true, current: 1000 })
    t.match(await charge(1), { ok: false, left: 0 })
  })

  t.test('reaches 80 % and 100 %, not before', async (t) => {
    const { charge, marks } = await makeCharger(500)
    await charge(399)
    t.same(await marks(), { warned: false, reached: false })
    await charge(1)
    t.same(await marks(), { warned: true, reached: false })
    await charge(100)
    t.same(await marks(), { warned: true, reached: true })
  })

  t.test('may reach both at once, with the first charge too, but not exceed', async (t) => {
    const { charge, marks, current } = await makeCharger(10)
    t.match(await charge(11), { ok: false, left: 10 })
    t.equal(await current(), 0)
    t.same(await charge(10), { ok: true, current: 10, limit: 10 })
    t.same(await marks(), { warned: true, reached: true })
  })

  t.test('is given back by a rollback', async (t) => {
    const { orgId, quotas, charge, current } = await makeCharger(10)
    await t.rejects(
      sql.begin(async (tx) => {
        await chargeUsage(tx, NO_QUEUE, { orgId, metric, n: 9, quotas, at })
        throw new Error('later')
      }),
    )
    t.equal(await current(), 0)
    t.match(await charge(9), { ok: true })
  })

  t.test('begins anew with each month of UTC', async (t) => {
    const { charge, current, marks } = await makeCharger(10)
    await charge(10, new Date('2026-01-31T23:59:59.999Z'))
    const next = new Date('2026-02-01T00:00:00Z')
    t.equal(await current(next), 0)
    t.match(await charge(7, next), { ok: true, current: 7 })
    t.same(await marks(), { warned: false, reached: false })
    t.same(quotaPeriod(new Date('2026-12-31T23:59:59Z')), {
      start: new Date('2026-12-01T00:00:00Z'),
      end: new Date('2027-01-01T00:00:00Z'),
    })
  })

  t.test('is far again from a raised limit, and beyond a lowered one', async (t) => {
    const { orgId, charge, marks } = await makeCharger(10)
    const setPlan = (plan: string) =>
      sql`update organizations set plan = ${plan} where id = ${orgId}`
    await charge(10)
    await setPlan('core')
    t.match(await charge(1), { ok: true, limit: 20 })
    t.same(await marks(), { warned: false, reached: false })
    await charge(5)
    t.same(await marks(), { warned: true, reached: false })
    await setPlan('free')
    t.match(await charge(1), { ok: false, left: 0, limit: 10 })
    await setPlan('core')
    await sql`update organizations set grace_period_ends = now() where id = ${orgId}`
    t.match(await charge(1), { ok: false, limit: 10 }, 'so it is after the grace period')
  })
})

/** Nobody is notified: the organizations have no address. */
const NO_QUEUE = undefined as never
