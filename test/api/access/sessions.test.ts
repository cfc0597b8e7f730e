import t from 'tap'
import { saveKeyUses } from '../../../sql/access/api-keys.ts'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('browser sessions', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()

  const call = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    payload?: object,
  ) =>
    service.server.inject({ method, url: `/api/v1${path}`, headers, ...(payload && { payload }) })

  async function open(key: string) {
    const opened = await call('POST', '/auth/session', {}, { api_key: key })
    const [pair = ''] = String(opened.headers['set-cookie']).split(';')
    return { opened, cookie: pair }
  }

  t.test('are opened with a key and act as it', async (t) => {
    const { opened, cookie } = await open(org.key)
    t.equal(opened.statusCode, 201)
    t.match(JSON.parse(opened.payload), { role: 'admin', scope: 'global', org: { id: org.orgId } })
    const me = await call('GET', '/auth/me', { cookie: `a=b; ${cookie}; c=d` })
    t.equal(me.statusCode, 200)
    t.match(JSON.parse(me.payload), {
      user: { id: org.keyId },
      org: { id: org.orgId, plan: 'enterprise' },
      role: 'admin',
    })
    const [row] = await service.sql<{ n: number }[]>`
      select count(*)::int as n from sessions where sessions::text like ${`%${cookie.split('=')[1]}%`}`
    t.equal(row?.n, 0, 'and the token is not stored')
  })

  t.test('have a cookie that scripts and other sites cannot use', async (t) => {
    const attributes = async (headers: Record<string, string>) => {
      const { headers: answer } = await call('POST', '/auth/session', headers, { api_key: org.key })
      return String(answer['set-cookie'])
    }
    const loopback = await attributes({ host: '127.0.0.1:3000' })
    t.match(loopback, /^service_session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/)
    t.match(await attributes({ host: 'api.example.com' }), /; Secure$/)
    t.match(await attributes({ host: 'localhost', 'x-forwarded-proto': 'https' }), /; Secure$/)
  })

  t.test('are refused when unknown, expired or ended', async (t) => {
    const { cookie } = await open(org.key)
    const expired = { statusCode: 401, payload: /"Session has expired"/ }
    t.match(await call('GET', '/auth/me', { cookie: 'service_session=guess' }), expired)
    await service.sql`update sessions set expires_at = now() where org_id = ${org.orgId}`
    t.match(await call('GET', '/auth/me', { cookie }), expired)
    const other = await open(org.key)
    const ended = await call('DELETE', '/auth/session', {
      cookie: other.cookie,
      'sec-fetch-site': 'same-origin',
    })
    t.match(ended, { statusCode: 204, headers: { 'set-cookie': /service_session=; .*Max-Age=0;/ } })
    t.match(await call('GET', '/auth/me', { cookie: other.cookie }), expired)
    t.equal((await call('DELETE', '/auth/session')).statusCode, 204)
  })

  t.test('end with the key that opened them', async (t) => {
    const admin = service.client(org.key)
    const made = await admin.post('/api-keys', { label: 'browser', scope: 'global' })
    const { cookie } = await open(made.body.raw_key)
    t.equal((await call('GET', '/auth/me', { cookie })).statusCode, 200)
    await admin.delete(`/api-keys/${made.body.id}`)
    t.match(await call('GET', '/auth/me', { cookie }), {
      statusCode: 401,
      payload: /Session has expired/,
    })
  })

  t.test('change something only from the same origin', async (t) => {
    const { cookie } = await open(org.key)
    const post = (headers: Record<string, string>) =>
      call(
        'POST',
        '/api-keys',
        { cookie, host: 'app.example.com', ...headers },
        {
          label: 'x',
          scope: 'global',
        },
      )
    const refused: Record<string, string>[] = [
      {},
      { origin: 'https://evil.example.com' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: 'https://app.example.com' },
      { 'sec-fetch-site': 'none' },
    ]
    for (const headers of refused) {
      t.equal((await post(headers)).statusCode, 403, JSON.stringify(headers))
    }
    t.equal((await post({ origin: 'https://app.example.com' })).statusCode, 201)
    t.equal((await post({ 'sec-fetch-site': 'same-origin' })).statusCode, 201)
    t.equal((await call('GET', '/api-keys', { cookie })).statusCode, 200)
    t.equal((await call('DELETE', '/auth/session', { cookie })).statusCode, 403)
  })

  t.test('are not opened or ended by other sites', async (t) => {
    const foreign = { origin: 'https://evil.example.com' }
    const opened = await call('POST', '/auth/session', foreign, { api_key: org.key })
    t.equal(opened.statusCode, 403)
    t.equal(opened.headers['set-cookie'], undefined)
  })

  t.test('have no more rights than their key', async (t) => {
    const read = await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })
    const { cookie, opened } = await open(read.raw)
    t.match(JSON.parse(opened.payload), { role: 'viewer' })
    const posted = await call(
      'POST',
      '/api-keys',
      { cookie, 'sec-fetch-site': 'same-origin' },
      { label: 'x', scope: 'global' },
    )
    t.equal(posted.statusCode, 403)
    const ended = await call('DELETE', '/auth/session', { cookie, 'sec-fetch-site': 'same-origin' })
    t.equal(ended.statusCode, 204)
  })

  t.test('give way to a bearer key, good or bad', async (t) => {
    const { cookie } = await open(org.key)
    const bad = await call('GET', '/auth/me', { cookie, authorization: 'Bearer svc_sk_x' })
    t.equal(bad.statusCode, 401)
    const read = await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })
    const both = await call('GET', '/auth/me', { cookie, authorization: `Bearer ${read.raw}` })
    t.match(JSON.parse(both.payload), { role: 'viewer' })
  })

  t.test('are not opened with a key that is no good', async (t) => {
    t.match(await call('POST', '/auth/session', {}, { api_key: 'x' }), {
      statusCode: 401,
      payload: /Malformed API key/,
    })
    t.equal((await call('POST', '/auth/session', {}, {})).statusCode, 422)
  })

  t.test('and keys alike are verified', async (t) => {
    const project = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'write',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    const { cookie } = await open(project.raw)
    for (const headers of [{ cookie }, { authorization: `Bearer ${project.raw}` }]) {
      const { payload, statusCode } = await call('GET', '/auth/verify', headers as never)
      t.equal(statusCode, 200)
      t.same(JSON.parse(payload), {
        status: 'ok',
        api_key_valid: true,
        scope: 'project',
        project_id: org.projectId,
        workspace_id: org.workspaceId,
        permissions: { read: true, write: true, admin: false },
        require_manifest_on_ingest: false,
        message: 'The credential is valid',
      })
    }
    t.equal((await call('GET', '/auth/verify')).statusCode, 401)
  })

  t.test('tell when they are over, which is no later than for their key', async (t) => {
    const { opened, cookie } = await open(org.key)
    const told = async (headers: Record<string, string>) =>
      JSON.parse((await call('GET', '/auth/me', headers)).payload).session_expires_at as string
    const expiry = await told({ cookie })
    t.equal(expiry, JSON.parse(opened.payload).session_expires_at)
    const hours = (Date.parse(expiry) - Date.now()) / 3_600_000
    t.ok(hours > 11.9 && hours < 12.1, expiry)
    t.equal(await told({ authorization: `Bearer ${org.key}` }), null)
    const expires_at = new Date(Date.now() + 3_600_000)
    const short = await makeTestKey(service.sql, org.orgId, {
      scope: 'global',
      permissions: 'read',
      expires_at,
    })
    t.equal(await told({ cookie: (await open(short.raw)).cookie }), toWire(expires_at))
  })
})

t.test('the sessions of a key', async (t) => {
  const service = await openService(t)
  const inject = (
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    headers = {},
    payload?: object,
  ) =>
    service.server.inject({ method, url: `/api/v1${path}`, headers, ...(payload && { payload }) })

  async function open(key: string) {
    const opened = await inject('POST', '/auth/session', {}, { api_key: key })
    return String(opened.headers['set-cookie']).split(';')[0] ?? ''
  }
  const isOpen = async (cookie: string) =>
    (await inject('GET', '/auth/me', { cookie })).statusCode === 200

  t.test('are listed without what they are used with', async (t) => {
    const org = await service.makeOrganization()
    const path = `/api-keys/${org.keyId}/sessions`
    const first = await open(org.key)
    const second = await open(org.key)
    const { payload } = await inject('GET', path, { cookie: second })
    const { sessions } = JSON.parse(payload)
    const members = ['id', 'created_at', 'expires_at', 'last_used_at', 'is_current']
    t.same(Object.keys(sessions[0]), members)
    t.match(sessions, [
      { is_current: true, last_used_at: String },
      { is_current: false, last_used_at: null },
    ])
    for (const cookie of [first, second]) t.notMatch(payload, cookie.split('=')[1] ?? '')
    const byKey = (await service.client(org.key).get(path)).body.sessions
    t.same(
      byKey.map(({ is_current }: { is_current: boolean }) => is_current),
      [false, false],
    )
    await service.sql`update sessions set expires_at = now() where org_id = ${org.orgId}`
    t.same((await service.client(org.key).get(path)).body, { sessions: [] })
  })

  t.test('are ended one by one, which is audited', async (t) => {
    const org = await service.makeOrganization()
    const { get, delete: end } = service.client(org.key)
    const path = `/api-keys/${org.keyId}/sessions`
    const cookies = [await open(org.key), await open(org.key)]
    const [newest] = (await get(path)).body.sessions
    t.equal((await end(`${path}/${newest.id}`)).status, 204)
    t.same(await Promise.all(cookies.map(isOpen)), [true, false])
    t.match(await end(`${path}/${newest.id}`), {
      status: 404,
      body: { detail: 'Session not found' },
    })
    const [event] = (await get('/changelog')).body.events
    t.match(event, {
      event_type: 'session.ended',
      title: "Session of API key 'test' ended",
      summary: "Session of API key 'test' was ended by API key 'test'.",
      resource: { type: 'session', id: newest.id },
    })
  })

  t.test(
    'are nothing to other organizations, other keys and keys that may not revoke',
    async (t) => {
      const org = await service.makeOrganization()
      const cookie = await open(org.key)
      const path = `/api-keys/${org.keyId}/sessions`
      const [{ id }] = (await service.client(org.key).get(path)).body.sessions
      const other = service.client((await service.makeOrganization()).key)
      t.match(await other.get(path), { status: 404, body: { detail: 'API key not found' } })
      t.equal((await other.delete(`${path}/${id}`)).status, 404)
      const keyOf = (permissions: 'read' | 'write' | 'admin') =>
        makeTestKey(service.sql, org.orgId, { scope: 'global', permissions })
      const sibling = await keyOf('admin')
      t.equal(
        (await service.client(org.key).delete(`/api-keys/${sibling.id}/sessions/${id}`)).status,
        404,
      )
      for (const permissions of ['read', 'write'] as const) {
        const { raw } = await keyOf(permissions)
        t.equal((await service.client(raw).delete(`${path}/${id}`)).status, 403, permissions)
      }
      t.ok(await isOpen(cookie))
    },
  )

  t.test('are twenty at most, however many are opened at once: the oldest end', async (t) => {
    const org = await service.makeOrganization()
    const oldest = await open(org.key)
    const others = await Promise.all(Array.from({ length: 22 }, () => open(org.key)))
    t.notOk(await isOpen(oldest))
    const open22 = await Promise.all(others.map(isOpen))
    t.equal(open22.filter(Boolean).length, 20)
    const { sessions } = (await service.client(org.key).get(`/api-keys/${org.keyId}/sessions`)).body
    t.equal(sessions.length, 20)
  })
})

t.test('the rate limit of a session', async (t) => {
  const service = await openService(t)
  const me = (headers: Record<string, string>) =>
    service.server.inject({ url: '/api/v1/auth/me', headers })
  async function open(key: string) {
    const opened = await service.server.inject({
      method: 'POST',
      url: '/api/v1/auth/session',
      payload: { api_key: key },
    })
    return { cookie: String(opened.headers['set-cookie']).split(';')[0] ?? '' }
  }
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const exhaust = async (headers: Record<string, string>) => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => me(headers)))
    return answers.filter(({ statusCode }) => statusCode === 200).length
  }
  const full = (sql: typeof service.sql, orgId: string) => sql`
    update rate_buckets set full_at = now() + interval '1 hour' where org_id = ${orgId}`

  t.test('is its own, of the size of its plan', async (t) => {
    const org = await service.makeOrganization('free')
    const startedAt = performance.now()
    const session = await open(org.key)
    const passed = await exhaust(session)
    const refilled = Math.ceil((performance.now() - startedAt) / 1000)
    t.ok(passed >= 10 && passed <= 10 + refilled, `${passed} passed`)
    t.equal((await me(bearer(org.key))).statusCode, 200, 'clicks do not eat the budget of the key')
    t.match((await me(session)).headers, { 'ratelimit-limit': '60' })
  })

  t.test('lets the owner of a busy key in, and work', async (t) => {
    const org = await service.makeOrganization('free')
    const early = await open(org.key)
    await me(bearer(org.key))
    await full(service.sql, org.orgId)
    t.equal((await me(bearer(org.key))).statusCode, 429)
    t.equal((await me(early)).statusCode, 200)
    const late = await open(org.key)
    t.equal((await me(late)).statusCode, 200)
  })

  t.test('counts to the ceiling of the organization, which gives back its own token', async (t) => {
    const org = await service.makeOrganization('free')
    const session = await open(org.key)
    await service.sql`
      update organization_buckets set full_at = now() + interval '1 hour' where org_id = ${org.orgId}`
    const { statusCode } = await me(session)
    t.equal(statusCode, 429)
    const [bucket] = await service.sql<{ full: boolean }[]>`
      select b.full_at <= clock_timestamp() as full
      from sessions s join rate_buckets b on b.org_id = s.org_id and b.key_id = s.id
      where s.org_id = ${org.orgId}`
    t.equal(bucket?.full, true)
  })

  t.test('leaves the last use of the key up to date', async (t) => {
    const org = await service.makeOrganization()
    const session = await open(org.key)
    await service.sql`update rate_buckets set last_used_at = 'epoch' where org_id = ${org.orgId}`
    const before = new Date()
    await me(session)
    const { payload } = await service.server.inject({
      url: '/api/v1/api-keys',
      headers: session,
    })
    const [key] = JSON.parse(payload).api_keys
    t.ok(Date.parse(key.last_used_at) >= before.getTime())
    await saveKeyUses(service.sql)
    const [row] = await service.sql<{ last_used_at: Date }[]>`
      select last_used_at from api_keys where id = ${org.keyId}`
    t.ok((row?.last_used_at ?? new Date(0)) >= before)
  })
})

const toWire = (time: Date) => time.toISOString()
