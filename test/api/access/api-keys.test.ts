import t from 'tap'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('API keys', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const admin = service.client(org.key)

  t.test('the raw key is shown once and works', async (t) => {
    const created = await admin.post('/api-keys', { label: 'ci', scope: 'global' })
    t.equal(created.status, 201)
    t.match(created.body.raw_key, /^svc_sk_[0-9A-Za-z]{38}$/)
    t.match(created.body, { label: 'ci', scope: 'global', permissions: 'admin', expires_at: null })
    t.match(created.body.key_prefix, /^svc_sk_....…$/)
    const listed = await service.client(created.body.raw_key).get('/api-keys')
    t.equal(listed.status, 200)
    t.equal(listed.body.api_keys[0].id, created.body.id)
    t.notMatch(JSON.stringify(listed.body), created.body.raw_key)
    const [row] = await service.sql<{ n: number }[]>`
      select count(*)::int as n from api_keys where api_keys::text like ${`%${created.body.raw_key}%`}`
    t.equal(row?.n, 0)
  })

  t.test('a revoked key is refused with its own detail, and revoking again is 404', async (t) => {
    const { body } = await admin.post('/api-keys', { label: 'old', scope: 'global' })
    t.match(await admin.delete(`/api-keys/${body.id}`), { status: 200, body: { revoked: true } })
    t.match(await service.client(body.raw_key).get('/jobs'), {
      status: 401,
      body: { detail: 'API key has been revoked' },
    })
    t.equal((await admin.delete(`/api-keys/${body.id}`)).status, 404)
  })

  t.test('every way a credential can be wrong has its own detail', async (t) => {
    const expired = await makeTestKey(service.sql, org.orgId, {
      scope: 'global',
      permissions: 'admin',
      expires_at: new Date(0),
    })
    const wrongLetter = org.key.slice(0, -1) + (org.key.endsWith('0') ? '1' : '0')
    const cases: [Record<string, string>, string][] = [
      [{}, 'Missing API key'],
      [{ authorization: 'Basic abc' }, 'Malformed API key'],
      [{ authorization: 'Bearer ' }, 'Malformed API key'],
      [{ authorization: `Bearer ${org.key} ${org.key}` }, 'Malformed API key'],
      [{ authorization: `Bearer ${'svc_sk_'.padEnd(101, 'a')}` }, 'Malformed API key'],
      [{ authorization: 'Bearer other_sk_abc' }, 'Malformed API key'],
      [{ authorization: `Bearer ${wrongLetter}` }, 'Invalid API key'],
      [{ authorization: 'Bearer svc_sk_short' }, 'Invalid API key'],
      [{ authorization: `Bearer ${expired.raw}` }, 'API key has expired'],
    ]
    for (const [headers, detail] of cases) {
      const response = await service.server.inject({ url: '/api/v1/jobs', headers })
      t.equal(response.statusCode, 401, JSON.stringify(headers))
      t.match(JSON.parse(response.payload), { detail, code: 'unauthorized' })
    }
    const byHeader = { 'x-api-key': org.key }
    const response = await service.server.inject({ url: '/api/v1/jobs', headers: byHeader })
    t.equal(response.statusCode, 200)
  })

  t.test('permission is decided by method, before the body is read', async (t) => {
    const read = await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })
    const write = await makeTestKey(service.sql, org.orgId, {
      scope: 'global',
      permissions: 'write',
    })
    const key = { label: 'x', scope: 'global' }
    t.equal((await service.client(read.raw).get('/api-keys')).status, 200)
    t.equal((await service.client(read.raw).post('/api-keys', 'not json')).status, 403)
    t.equal((await service.client(write.raw).post('/api-keys', key)).status, 403)
    t.equal((await service.client(write.raw).delete(`/api-keys/${org.keyId}`)).status, 403)
  })

  t.test('only global keys handle keys', async (t) => {
    const scoped = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'admin',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    t.equal((await service.client(scoped.raw).get('/api-keys')).status, 403)
  })

  t.test('are listed page by page, with their number', async (t) => {
    const org = await service.makeOrganization()
    for (let i = 0; i < 4; i++)
      await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })
    const { get } = service.client(org.key)
    const found = new Set<string>()
    let path = '/api-keys?limit=2'
    for (let page = 0; page < 3; page++) {
      const { body } = await get(path)
      t.equal(body.total, 5)
      for (const { id } of body.api_keys) found.add(id)
      t.equal(body.next_cursor === null, page === 2)
      path = `/api-keys?limit=2&cursor=${body.next_cursor}`
    }
    t.equal(found.size, 5)
    t.match((await get('/api-keys?offset=50')).body, { api_keys: [], total: 5, next_cursor: null })
  })

  t.test('creating and revoking are audited', async (t) => {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const { body } = await client.post('/api-keys', { label: 'ci', scope: 'global' })
    await client.delete(`/api-keys/${body.id}`)
    const events = await service.sql`
      select action, actor_key_id, resource_id, data from audit_events where org_id = ${org.orgId}
      order by id`
    const common = { actor_key_id: org.keyId, resource_id: body.id }
    t.match(events, [
      { ...common, action: 'api_key.created', data: { label: 'ci', key_prefix: body.key_prefix } },
      { ...common, action: 'api_key.revoked' },
    ])
    t.notMatch(JSON.stringify(events), body.raw_key)
  })

  t.test('are as many as the plan allows, however many are made at once', async (t) => {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const limits = { free: 10, core: 50, pro: 200, enterprise: 1000 }
    for (const [plan, limit] of Object.entries(limits)) {
      const missing = limit - (await countLive(org.orgId)) - 3
      await Promise.all(
        Array.from({ length: missing }, () =>
          makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' }),
        ),
      )
      await setPlan(org.orgId, plan)
      const made = await Promise.all(Array.from({ length: 8 }, () => makeKey(client)))
      const refused = made.filter(({ status }) => status !== 201)
      t.equal(refused.length, 5, plan)
      for (const { status, body } of refused) {
        t.equal(status, 409)
        t.match(body, { code: 'too_many_keys', detail: new RegExp(`at most ${limit} .*revoke`) })
      }
      t.equal(await countLive(org.orgId), limit)
    }
  })

  t.test('that are revoked or expired make room, and a smaller plan takes none away', async (t) => {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const keys = await Promise.all(
      Array.from({ length: 11 }, () =>
        makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'admin' }),
      ),
    )
    await setPlan(org.orgId, 'free')
    t.equal((await makeKey(client)).status, 409)
    t.equal((await service.client(keys[10]?.raw ?? '').get('/jobs')).status, 200)
    for (const { id } of keys.slice(0, 2)) await client.delete(`/api-keys/${id}`)
    t.equal((await makeKey(client)).status, 409)
    await service.sql`
      update api_keys set expires_at = now() where org_id = ${org.orgId} and id = ${keys[2]?.id ?? ''}`
    t.equal((await makeKey(client)).status, 201)
    t.equal((await makeKey(client)).status, 409)
  })

  const makeKey = (client: ReturnType<typeof service.client>) =>
    client.post('/api-keys', { label: 'more', scope: 'global' })

  /** Puts an organization on a plan, with full buckets. */
  async function setPlan(orgId: string, plan: string) {
    await service.sql`update organizations set plan = ${plan} where id = ${orgId}`
    await service.sql`delete from rate_buckets where org_id = ${orgId}`
    await service.sql`delete from organization_buckets where org_id = ${orgId}`
  }

  async function countLive(orgId: string) {
    const [row] = await service.sql<{ n: number }[]>`
      select count(*)::int as n from api_keys
      where org_id = ${orgId} and revoked_at is null and (expires_at is null or expires_at > now())`
    return row?.n ?? 0
  }

  t.test('all faults of a request are listed', async (t) => {
    const { status, body } = await admin.post('/api-keys', { scope: 'galaxy', permissions: 1 })
    t.equal(status, 422)
    t.equal(body.code, 'validation_error')
    t.same(
      body.details.errors.map(({ field }: { field: string }) => field).sort(),
      ['body.label', 'body.permissions', 'body.permissions', 'body.scope'].sort(),
    )
    t.equal(typeof body.detail, 'string')
    t.ok(body.request_id)
  })

  t.test('scope and expiry are checked', async (t) => {
    const make = (body: object) => admin.post('/api-keys', { label: 'x', ...body })
    t.equal((await make({ scope: 'workspace' })).status, 400)
    t.equal((await make({ scope: 'project' })).status, 400)
    t.equal((await make({ scope: 'workspace', workspace_id: org.projectId })).status, 404)
    t.equal((await make({ scope: 'global', expires_at: '2001-01-01T00:00:00Z' })).status, 422)
    const project = await make({ scope: 'project', project_id: org.projectId })
    t.match(project, { status: 201, body: { project_id: org.projectId } })
  })

  t.test('malformed requests get the one error shape', async (t) => {
    const bad = await admin.call('POST', '/api-keys', '{"label":', {
      'content-type': 'application/json',
    })
    t.match(bad, { status: 400, body: { code: 'bad_request' } })
    const type = await admin.call('POST', '/api-keys', 'a=b', { 'content-type': 'text/plain' })
    t.match(type, { status: 400, body: { code: 'bad_request' } })
    t.match(await admin.get('/nowhere'), { status: 404, body: { code: 'not_found' } })
    const method = await admin.put('/api-keys', {})
    t.match(method, { status: 405, headers: { allow: 'GET, POST' } })
    const echoed = await admin.get('/jobs', { 'x-request-id': 'my-id-1' })
    t.equal(echoed.headers['x-request-id'], 'my-id-1')
    const deep = JSON.parse(`${'{"a":'.repeat(80)}1${'}'.repeat(80)}`)
    t.equal((await admin.post('/api-keys', deep)).status, 422)
  })
})
