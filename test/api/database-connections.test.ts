import t from 'tap'
import { gateOf, ownedBy } from '../../sql/core/db.ts'
import { meterRequests } from '../../ops/api-metrics.ts'
import { openMetrics, showPools } from '../../ops/metrics.ts'
import { openService } from '../support/service.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const READS = 4
/** Of one organization. */
const SHARE = 2
/** As `CONCURRENT_REQUESTS` has it for the plan of the organizations here. */
const AT_ONCE = 128

t.test('while an organization holds its share', async (t) => {
  const service = await open(t, '1')
  const { context } = service
  const { key, orgId } = await service.makeOrganization()
  const crowd = service.client(key)
  const other = await openClient(service)
  const release = await holdShare(service, orgId)

  await t.test('who finds no connection in time gets 503 and when to come again', async (t) => {
    t.match(await crowd.get('/jobs'), {
      status: 503,
      headers: { 'retry-after': '2' },
      body: { code: 'unavailable', detail: /busy/, request_id: String },
    })
  })

  await t.test('others are known, read and write', async (t) => {
    t.equal((await other.get('/auth/me')).status, 200)
    t.equal((await other.get('/jobs')).status, 200)
    t.equal((await other.post('/traces', { agent_name: 'a' })).status, 201)
    t.equal((await other.get('/traces/stats')).status, 200)
  })

  await t.test('the crowd itself is known, sums and writes', async (t) => {
    t.equal((await crowd.get('/auth/me')).status, 200)
    t.equal((await crowd.get('/traces/stats')).status, 200)
    t.equal((await crowd.post('/traces', { agent_name: 'a' })).status, 201)
  })

  await t.test(
    'work that the crowd submits is accepted, though nobody can look at it',
    async (t) => {
      const headers = { prefer: 'wait=1' }
      const accepted = await crowd.post(
        '/import/traces',
        { traces: [{ agent_name: 'a' }] },
        headers,
      )
      t.match(accepted, { status: 202, headers: { location: /jobs/ }, body: { job_id: String } })
    },
  )

  await t.test('the metrics say so', async (t) => {
    const metrics = openMetrics()
    showPools(metrics, { ...context.pools })
    meterRequests(metrics, service.server)
    await crowd.get('/jobs')
    const text = await metrics.metrics()
    t.match(text, `adl_database_connections{pool="read",state="busy"} ${SHARE}`)
    t.match(text, `adl_database_connections{pool="write",state="free"} 8`)
    t.match(text, 'adl_database_wait_seconds_count{pool="read"} 1')
    t.match(text, 'adl_requests_refused_total{reason="no_connection"} 1')
  })

  release()
  t.equal((await crowd.get('/jobs')).status, 200)
})

t.test('while requests without a key hold the share of one organization', async (t) => {
  const service = await open(t, '60')
  const client = await openClient(service)
  const read = async () => (await service.server.inject('/api/v1/registry/skills')).statusCode
  const unlock = await lock(service, 'registry_skills')
  const crowd = Array.from({ length: READS }, read)
  const { read: pool } = service.context.pools
  await until(() => gateOf(pool).state().waiting > 0)
  t.equal(gateOf(pool).state().busy, SHARE)
  t.equal((await client.get('/jobs')).status, 200, 'those with one are served')
  await unlock()
  t.same(new Set(await Promise.all(crowd)), new Set([200]))
})

t.test('a search that takes too long', async (t) => {
  const service = await open(t, '60')
  const client = await openClient(service)
  const unlock = await lock(service, 'traces')
  const sums = client.get('/traces/stats')
  const answer = await client.get('/traces?q=order')
  await unlock()

  await t.test('gets 503 with how to narrow it', async (t) => {
    t.match(answer, {
      status: 503,
      headers: { 'retry-after': '5' },
      body: { code: 'unavailable', detail: /Narrow it/ },
    })
  })

  await t.test('does not end sums, which may take longer', async (t) => {
    t.equal((await sums).status, 200)
  })
})

t.test('more requests of an organization at once than its plan allows', async (t) => {
  const service = await open(t, '60')
  const { key, orgId } = await service.makeOrganization()
  const crowd = service.client(key)
  const other = await openClient(service)

  await t.test('get 429, while others and its own later ones are served', async (t) => {
    const release = await holdShare(service, orgId)
    const working = Array.from({ length: AT_ONCE }, () => crowd.get('/traces'))
    const refused = await until(async () => {
      const answer = await crowd.get('/auth/me')
      return answer.status === 429 && answer
    })
    t.match(refused, {
      headers: { 'retry-after': '1', 'x-quota-exceeded': 'concurrent_requests' },
      body: { code: 'too_many_at_once', request_id: String },
    })
    t.equal((await other.get('/auth/me')).status, 200)
    release()
    t.same(new Set((await Promise.all(working)).map(({ status }) => status)), new Set([200]))
    t.equal((await crowd.get('/auth/me')).status, 200)
  })

  await t.test('are those too whose client has gone away', async (t) => {
    const release = await holdShare(service, orgId)
    await service.server.start()
    const { promise: isOver, resolve } = Promise.withResolvers<void>()
    service.server.events.on('response', ({ path }) => path.endsWith('/traces') && resolve())
    const leaving = new AbortController()
    const left = fetch(`${service.server.info.uri}/api/v1/traces`, {
      headers: { authorization: `Bearer ${key}` },
      signal: leaving.signal,
    }).catch(() => 'gone')
    await until(() => gateOf(service.context.pools.read).state().waiting > 0)
    const working = Array.from({ length: AT_ONCE - 1 }, () => crowd.get('/traces'))
    const isFull = async () => (await crowd.get('/auth/me')).status === 429
    await until(isFull)
    leaving.abort()
    t.equal(await left, 'gone')
    await isOver
    t.ok(await isFull(), 'its operation goes on')
    release()
    await Promise.all(working)
    await until(async () => !(await isFull()))
  })

  await t.test('are not those that wait for a job, which hold no connection', async (t) => {
    const { body } = await crowd.post(
      '/import/traces',
      { traces: [{ agent_name: 'a' }] },
      { prefer: 'respond-async' },
    )
    const path = `/jobs/${body.job_id}`
    const waiting = Array.from({ length: AT_ONCE }, () => crowd.get(`${path}?wait=50`))
    let answered = 0
    for (const each of waiting) void each.then(() => answered++)
    await until(async () => (await crowd.get('/auth/me')).status === 200)
    t.equal(answered, 0)
    await until(() => gateOf(service.context.pools.read).state().busy === 0)
    t.equal((await crowd.post(`${path}/cancel`)).status, 200)
    t.same(new Set((await Promise.all(waiting)).map(({ status }) => status)), new Set([200]))
  })
})

function open(t: Parameters<typeof openService>[0], waitSeconds: string) {
  return openService(t, {
    env: { DATABASE_READ_CONNECTIONS: String(READS), DATABASE_WAIT_SECONDS: waitSeconds },
  })
}

/** A client of an organization of its own. */
async function openClient(service: Service) {
  return service.client((await service.makeOrganization()).key)
}

/** Holds all the connections that an organization may have for reading. Returns what lets them go. */
async function holdShare({ context }: Service, orgId: string) {
  const pool = ownedBy(context.pools.read, orgId)
  const held = await Promise.all(Array.from({ length: SHARE }, () => pool.reserve()))
  return () => held.forEach((each) => each.release())
}

/** Makes every statement that reads a table wait. Returns what lets them go on. */
async function lock({ sql }: Service, table: string) {
  const holder = await sql.reserve()
  await holder`begin`
  await holder`lock table ${holder(table)} in access exclusive mode`
  return async () => {
    await holder`commit`
    holder.release()
  }
}
