import t from 'tap'
import type { Test } from 'tap'
import type { Server } from '@hapi/hapi'
import { createApi } from '../../api/server.ts'
import type { ServerOptions } from '../../api/server.ts'
import { hashKey } from '../../jobs/rules/access/api-key.ts'
import { ANONYMOUS_RATE } from '../../jobs/rules/org/plan.ts'
import { openApiContext } from '../../ops/api-context.ts'
import { admitKeys, saveKeyUses } from '../../sql/access/api-keys.ts'
import { makeTestKey, openService } from '../support/service.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('the rate limit', async (t) => {
  const service = await openService(t)
  const second = await openSecondServer(t, service)

  t.test('admits exactly the burst of 40 calls at once over two processes', async (t) => {
    const { key } = await service.makeOrganization('free')
    const startedAt = performance.now()
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => ask(i % 2 ? service.server : second, key)),
    )
    const elapsedSeconds = Math.floor((performance.now() - startedAt) / 1000)
    const admitted = answers.filter(({ statusCode }) => statusCode === 200)
    const refused = answers.filter(({ statusCode }) => statusCode === 429)
    // Exactly 10, unless the machine was so slow that tokens flowed in meanwhile.
    t.ok(admitted.length >= 10 && admitted.length <= 10 + elapsedSeconds, `${admitted.length}`)
    t.equal(admitted.length + refused.length, 40)
    t.match(JSON.parse(refused[0]?.payload ?? ''), { code: 'rate_limited', detail: String })
    for (const { headers, payload } of refused) {
      t.match(headers['retry-after'], /^[1-9]\d*$/)
      t.equal(headers['x-quota-exceeded'], 'rate_limit')
      const { detail, resets_in_seconds } = JSON.parse(payload) as Record<string, unknown>
      t.same([typeof detail, resets_in_seconds], ['string', Number(headers['retry-after'])])
    }
  })

  t.test('lets a call pass after Retry-After', async (t) => {
    const { key } = await service.makeOrganization('free')
    const { headers } = await untilRefused(() => ask(second, key))
    const seconds = Number(headers['retry-after'])
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    t.equal((await ask(second, key)).statusCode, 200)
    t.ok(seconds <= 2, 'and the wait is no longer than it has to be')
  })

  t.test('is told on every answer', async (t) => {
    const { key } = await service.makeOrganization('free')
    const read = await makeTestKey(service.sql, (await service.makeOrganization('free')).orgId, {
      scope: 'global',
      permissions: 'read',
    })
    const startedAt = performance.now()
    const answers = {
      200: await ask(second, key),
      404: await ask(second, key, '/api/v1/nowhere'),
      405: await second.inject({ method: 'PUT', url: '/api/v1/jobs', headers: bearer(key) }),
      422: await ask(second, key, '/api/v1/jobs?limit=0'),
      403: await second.inject({
        method: 'POST',
        url: '/api/v1/api-keys',
        headers: bearer(read.raw),
      }),
      401: await second.inject({ url: '/api/v1/jobs' }),
    }
    const passed = (performance.now() - startedAt) / 1000
    for (const [status, { statusCode, headers }] of Object.entries(answers)) {
      t.equal(statusCode, Number(status))
      t.equal(headers['ratelimit-limit'], status === '401' ? '30' : '60', `limit at ${status}`)
      t.match(headers['ratelimit-remaining'], /^\d$/, `remaining at ${status}`)
      t.match(headers['ratelimit-reset'], /^\d+$/, `reset at ${status}`)
    }
    t.equal(answers[200].headers['ratelimit-remaining'], '9')
    const reset = Number(answers[422].headers['ratelimit-reset'])
    t.ok(reset <= 4 && reset >= 4 - passed, `${reset}`)
    for (const url of ['/livez', '/health']) {
      const { statusCode, headers, payload } = await second.inject({ url })
      t.same([statusCode, headers['ratelimit-limit']], [200, undefined])
      t.same(JSON.parse(payload), { status: 'ok' })
    }
  })

  t.test('follows the plan, and of an enterprise organization what was agreed', async (t) => {
    const limits = { free: ['60', '9'], core: ['120', '19'], pro: ['300', '49'] } as const
    for (const plan of ['free', 'core', 'pro'] as const) {
      const { headers } = await ask(second, (await service.makeOrganization(plan)).key)
      t.same([headers['ratelimit-limit'], headers['ratelimit-remaining']], limits[plan])
    }
    const org = await service.makeOrganization('free')
    await service.sql`
      update organizations set plan = 'enterprise' where id = ${org.orgId}`
    t.match((await ask(second, org.key)).headers, {
      'ratelimit-limit': '1000',
      'ratelimit-remaining': '199',
    })
    await service.sql`
      update organizations set rate_per_minute = 5000, rate_burst = 900 where id = ${org.orgId}`
    t.match((await ask(second, org.key)).headers, { 'ratelimit-limit': '5000' })
    await service.sql`update organizations set plan = 'pro' where id = ${org.orgId}`
    t.match((await ask(second, org.key)).headers, { 'ratelimit-limit': '300' })
  })

  t.test('belongs to one key, not to its organization', async (t) => {
    const org = await service.makeOrganization('free')
    const other = await makeTestKey(service.sql, org.orgId, {
      scope: 'global',
      permissions: 'read',
    })
    await untilRefused(() => ask(second, org.key))
    t.equal((await ask(second, other.raw)).statusCode, 200)
  })

  t.test('refuses before it forbids, and forbids before it reads the body', async (t) => {
    const org = await service.makeOrganization('free')
    const read = await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })
    const post = () =>
      second.inject({
        method: 'POST',
        url: '/api/v1/api-keys',
        headers: bearer(read.raw),
        payload: '{',
      })
    t.equal((await post()).statusCode, 403)
    await untilRefused(post)
  })

  t.test('is remembered by the process that refused, without the database', async (t) => {
    const org = await service.makeOrganization('free')
    await exhaust(service, org.orgId, '1 hour')
    t.equal((await ask(second, org.key)).statusCode, 429)
    await service.sql`delete from organization_buckets where org_id = ${org.orgId}`
    t.equal((await ask(second, org.key)).statusCode, 429)
    t.equal((await ask(service.server, org.key)).statusCode, 200)
  })

  t.test('moves last_used_at, which survives the loss of the buckets once saved', async (t) => {
    const org = await service.makeOrganization()
    const lastUse = async () => {
      const { body } = await service.client(org.key).get('/api-keys')
      return Date.parse(body.api_keys[0].last_used_at)
    }
    const first = await lastUse()
    t.ok(Math.abs(Date.now() - first) < 60_000)
    await saveKeyUses(service.sql)
    await service.sql`update rate_buckets set last_used_at = 'epoch' where org_id = ${org.orgId}`
    await saveKeyUses(service.sql)
    const [row] = await service.sql<{ last_used_at: Date }[]>`
      select last_used_at from api_keys where org_id = ${org.orgId}`
    t.ok(Number(row?.last_used_at) >= first, 'and it never goes back')
  })
})

t.test('the ceiling of an organization', async (t) => {
  const service = await openService(t)
  const second = await openSecondServer(t, service)
  const servers = [service.server, second]
  const makeKeys = (orgId: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        makeTestKey(service.sql, orgId, { scope: 'global', permissions: 'admin' }),
      ),
    )

  t.test('lets six keys pass three times what one may, over two processes', async (t) => {
    const { orgId } = await service.makeOrganization('free')
    const keys = await makeKeys(orgId, 6)
    const startedAt = performance.now()
    const answers = await Promise.all(
      keys.flatMap(({ raw }) =>
        Array.from({ length: 10 }, (_, i) => ask(servers[i % 2] as Server, raw)),
      ),
    )
    const refillable = 3 * Math.ceil((performance.now() - startedAt) / 1000)
    const passed = answers.filter(({ statusCode }) => statusCode === 200)
    const refused = answers.filter(({ statusCode }) => statusCode === 429)
    t.ok(passed.length >= 30 && passed.length <= 30 + refillable, `${passed.length}`)
    t.equal(passed.length + refused.length, 60)
    for (const { headers } of refused) {
      t.match(headers, { 'x-quota-exceeded': 'rate_limit', 'retry-after': /^[1-9]\d*$/ })
    }
  })

  t.test('is exact in one call for many requests of several keys', async (t) => {
    const { orgId } = await service.makeOrganization('free')
    await service.sql`update organizations set plan = 'enterprise' where id = ${orgId}`
    const keys = await makeKeys(orgId, 4)
    const asked = keys.flatMap(({ raw }) =>
      Array.from({ length: 200 }, () => ({ hash: hashKey(raw), isSession: false })),
    )
    const startedAt = performance.now()
    const passed = (await admitKeys(service.sql, asked)).filter((found) => found?.admitted)
    const refillable = Math.ceil((performance.now() - startedAt) / 20)
    t.ok(passed.length >= 600 && passed.length <= 600 + refillable, `${passed.length}`)
  })

  t.test('takes no token of a key that it refuses', async (t) => {
    const { orgId, key, keyId } = await service.makeOrganization('free')
    // The 30 tokens take 10 seconds, so the first one is there almost 10 before the hour is over.
    await exhaust(service, orgId, '1 hour')
    const { statusCode, headers } = await ask(second, key)
    t.equal(statusCode, 429)
    const seconds = Number(headers['retry-after'])
    t.ok(seconds <= 3591 && seconds > 3500, `${seconds}`)
    t.match(headers, { 'ratelimit-limit': '60', 'ratelimit-remaining': '0' })
    const [bucket] = await service.sql<{ full: boolean }[]>`
      select full_at <= clock_timestamp() as full from rate_buckets
      where org_id = ${orgId} and key_id = ${keyId}`
    t.equal(bucket?.full, true)
  })

  t.test('is what the headers tell of when less is left of it than of the key', async (t) => {
    const { orgId, key } = await service.makeOrganization('free')
    // Three tokens are there, one of which the request takes.
    const startedAt = performance.now()
    await exhaust(service, orgId, '9 seconds')
    const { statusCode, headers } = await ask(second, key)
    const passed = (performance.now() - startedAt) / 1000
    t.equal(statusCode, 200)
    t.equal(headers['ratelimit-limit'], '60')
    const remaining = Number(headers['ratelimit-remaining'])
    t.ok(remaining >= 2 && remaining <= 2 + 3 * passed, `${remaining}`)
    const reset = Number(headers['ratelimit-reset'])
    t.ok(reset <= 10 && reset >= 9 - passed, `${reset}`)
  })

  t.test('is taken of by several processes at once without waiting in a circle', async (t) => {
    const organizations = await Promise.all(
      Array.from({ length: 8 }, () => service.makeOrganization()),
    )
    const keys = await Promise.all(organizations.map(({ orgId }) => makeKeys(orgId, 4)))
    // Calls at once have organizations in common, and no keys.
    const calls = Array.from({ length: 200 }, (_, i) =>
      keys.map((ofOrg) => ({ hash: hashKey(ofOrg[i % 4]?.raw ?? ''), isSession: false })),
    )
    const admissions = await Promise.all(calls.map((asked) => admitKeys(service.sql, asked)))
    t.ok(admissions.flat().every((found) => found?.admitted))
  })
})

t.test('callers without a good credential', async (t) => {
  const service = await openService(t, {
    // A token an hour, so that none flows in meanwhile.
    anonymousRate: { ...ANONYMOUS_RATE, perMinute: 1 / 60 },
    trustedProxies: '127.0.0.1',
  })
  const from = (address: string, key?: string) =>
    service.server.inject({
      url: '/api/v1/jobs',
      headers: { 'x-forwarded-for': address, ...(key && bearer(key)) },
    })

  t.test('are limited by address', async (t) => {
    const statuses = await Promise.all(
      Array.from({ length: 15 }, async () => (await from('198.51.100.1')).statusCode),
    )
    t.equal(statuses.filter((status) => status === 401).length, 10)
    t.equal(statuses.filter((status) => status === 429).length, 5)
    t.match(await from('198.51.100.1'), {
      statusCode: 429,
      headers: { 'retry-after': /^3(5\d\d|600)$/ },
    })
    t.equal((await from('198.51.100.2')).statusCode, 401)
  })

  t.test('do not take from those who have one', async (t) => {
    const { key } = await service.makeOrganization()
    await Promise.all(Array.from({ length: 12 }, () => from('198.51.100.3')))
    t.equal((await from('198.51.100.3')).statusCode, 429)
    t.equal((await from('198.51.100.3', key)).statusCode, 200)
  })

  t.test('guess unknown, expired and revoked keys no faster', async (t) => {
    const org = await service.makeOrganization()
    const expired = await makeTestKey(service.sql, org.orgId, {
      scope: 'global',
      permissions: 'admin',
      expires_at: new Date(0),
    })
    const statuses = await Promise.all(
      Array.from({ length: 14 }, async () => (await from('198.51.100.4', expired.raw)).statusCode),
    )
    t.equal(statuses.filter((status) => status === 401).length, 10)
    t.equal(statuses.filter((status) => status === 429).length, 4)
  })

  t.test('do not reach the database with a malformed key', async (t) => {
    const { context } = service
    const sql = () => {
      throw new Error('the database was asked')
    }
    const server = await createApi({
      ...context,
      pools: { ...context.pools, auth: sql as never },
    })
    t.teardown(() => server.stop())
    const invalid = `${(await service.makeOrganization()).key.slice(0, -1)}!`
    for (const key of ['', 'x', 'svc_sk_short', invalid]) {
      t.equal((await ask(server, key)).statusCode, 401)
    }
  })
})

/** Takes tokens of an organization's bucket, so that it is full again only after some time. */
async function exhaust({ sql }: Service, orgId: string, until: string) {
  await sql`
    insert into organization_buckets (org_id, full_at)
    values (${orgId}, clock_timestamp() + ${until}::interval)`
}

/** Asks until no token is left, however many flow in meanwhile, and returns the refusal. */
function untilRefused(ask: () => ReturnType<Server['inject']>) {
  return until(async () => {
    const answer = await ask()
    return answer.statusCode === 429 && answer
  })
}

function ask(server: Server, key: string, url = '/api/v1/jobs') {
  return server.inject({ url, headers: bearer(key) })
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Another API process's server on the same database, as far as anything outside it can tell. */
async function openSecondServer(t: Test, service: Service, options: ServerOptions = {}) {
  const opened = await openApiContext(service.config, service.url)
  const server = await createApi(opened.context, options)
  t.teardown(async () => {
    await server.stop()
    await opened.close()
  })
  return server
}
