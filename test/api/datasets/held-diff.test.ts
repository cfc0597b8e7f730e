import t from 'tap'
import { gateOf, ownedBy } from '../../../sql/core/db.ts'
import { openService } from '../../support/service.ts'
import type { Service } from '../../support/service.ts'
import { storeVersion } from '../../support/stored-version.ts'
import { until } from '../../support/until.ts'

const REFUSED = {
  status: 503,
  headers: { 'retry-after': '2' },
  body: { code: 'unavailable', detail: /busy/ },
}

t.test('while comparisons hold all the connections that they may have', async (t) => {
  const service = await openService(t, { env: { DATABASE_WAIT_SECONDS: '1' } })
  const { pools } = service.context
  const one = await openDiff(service)
  const other = await openDiff(service)
  const third = await openDiff(service)
  const { held } = await service.sql.begin(async (tx) => {
    await tx`lock table dataset_version_rows in access exclusive mode`
    const held = [one, other].map(({ diff }) => diff())
    await until(() => gateOf(pools.compare).state().free === 0)

    await t.test('everybody gets sums and lists', async (t) => {
      for (const { api } of [one, other, third])
        for (const path of ['/traces/stats', '/agents', '/traces', '/datasets'])
          t.equal((await api.get(path)).status, 200, path)
    })

    await t.test('one more comparison gets 503 in time, and when to come again', async (t) => {
      t.match(await third.diff(), REFUSED)
      t.match(await one.diff(), REFUSED)
    })

    await t.test('what is not there is told at once', async (t) => {
      t.match(await third.diff('v9'), { status: 404 })
    })
    return { held }
  })

  await t.test('and when they end, the next is served', async (t) => {
    for (const { status } of await Promise.all(held)) t.equal(status, 200)
    t.match(await third.diff(), { status: 200, body: { unchanged: { count: 0 } } })
  })
})

t.test('comparisons of one organization leave room for those of another', async (t) => {
  const service = await openService(t, { env: { DATABASE_WAIT_SECONDS: '1' } })
  const one = await openDiff(service)
  const other = await openDiff(service)
  const share = await ownedBy(service.context.pools.compare, one.orgId).reserve()
  t.match(await one.diff(), REFUSED)
  t.match(await other.diff(), { status: 200, body: { unchanged: { count: 0 } } })
  share.release()
  t.match(await one.diff(), { status: 200 })
})

/** An organization with a version, which it compares with itself. */
async function openDiff(service: Service) {
  const org = await service.makeOrganization()
  await storeVersion(service.sql, org, 0)
  const api = service.client(org.key)
  const { body } = await api.get('/datasets')
  const dataset = `/datasets/${body.datasets[0].id}`
  return {
    ...org,
    api,
    diff: (from = 'v1') => api.get(`${dataset}/diff?from=${from}&to=v1`),
  }
}
