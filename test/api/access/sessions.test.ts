import t from 'tap'
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
})
