import t from 'tap'
import { makeTestKey, openService } from '../../support/service.ts'
import { PLATFORM_KEY, PUBLIC_KEY } from '../../support/platforms/connection.ts'

const CONNECTION = {
  base_url: 'https://platform.invalid/at/',
  project: 'shop',
  public_key: PUBLIC_KEY,
  secret_key: PLATFORM_KEY,
}
const ASYNC = { prefer: 'respond-async' }

t.test('a request to pull', async (t) => {
  const service = await openService(t, { env: { OUTBOUND_ALLOW_CIDRS: '10.9.0.0/16' } })
  const { sql } = service
  const org = await service.makeOrganization()
  const api = service.client(org.key)
  const ask = (body: object = {}, connection: object = {}, headers = {}) =>
    api.post(
      '/import',
      { source: 'langfuse', connection: { ...CONNECTION, ...connection }, ...body },
      { ...ASYNC, ...headers },
    )

  t.test('answers 202 with the import, whose connection has no keys', async (t) => {
    const before = new Date()
    const { status, body, headers } = await ask({ agent_name: 'shop-agent' })
    t.equal(status, 202)
    t.equal(headers['location'], `/api/v1/jobs/${body.job_id}`)
    t.match(body, {
      source: 'langfuse',
      status: 'queued',
      agent_name: 'shop-agent',
      project_id: org.projectId,
      progress: { bytes: 0, bytes_total: null, lines: 0 },
    })
    const { since, until, ...connection } = body.connection
    t.same(connection, {
      base_url: 'https://platform.invalid/at',
      project: 'shop',
      workspace: null,
    })
    t.equal(since, '2023-01-01T00:00:00.000Z')
    t.ok(new Date(until) >= before && new Date(until) <= new Date(), 'until is now')
    t.same((await api.get(`/import/${body.id}`)).body.connection, body.connection)
    const [job] = await sql`select request, has_secret from jobs where id = ${body.job_id}`
    t.same(job, { request: { import_id: body.id }, has_secret: true })
  })

  t.test('keeps the range that it names', async (t) => {
    const range = { since: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00+01:00' }
    t.match((await ask(range)).body.connection, {
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-31T23:00:00.000Z',
    })
  })

  t.test('answers 422 for what cannot be asked, and repeats no key', async (t) => {
    const faulty: [body: object, connection?: object][] = [
      [{ source: 'none' }],
      [{}, { project: null }],
      [{}, { secret_key: null }],
      [{}, { public_key: 'a:b' }],
      [{}, { secret_key: `${PLATFORM_KEY}\r\nx: y` }],
      [{}, { workspace: 'a\nb' }],
      ...['ftp://x.invalid', 'platform', 'https://', `https://a:${PLATFORM_KEY}@x.invalid`].map(
        (base_url): [object, object] => [{}, { base_url }],
      ),
      [{}, { base_url: `https://x.invalid?key=${PLATFORM_KEY}` }],
      [{}, { base_url: 'https://x.invalid/#a' }],
      [{ since: '2026-01-02T00:00:00Z', until: '2026-01-02T00:00:00Z' }],
      [{ since: '1969-01-01T00:00:00Z' }],
      [{ until: new Date(Date.now() + 3_600_000).toISOString() }],
      [{ since: 'yesterday' }],
    ]
    for (const [body, connection] of faulty) {
      const answer = await ask(body, connection)
      t.equal(answer.status, 422, JSON.stringify([body, connection]))
      t.notMatch(JSON.stringify(answer.body), PLATFORM_KEY)
    }
  })

  t.test('names the member of the range that it was sent', async (t) => {
    const fieldsOf = async (range: object) =>
      (await ask(range)).body.details.errors.map(({ field }: { field: string }) => field)
    t.same(await fieldsOf({ until: '2020-01-01T00:00:00Z' }), ['body.until'])
    const [since, until] = ['2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z']
    t.same(await fieldsOf({ since, until }), ['body.since'])
    t.same(await fieldsOf({ since: new Date(Date.now() + 60_000).toISOString() }), ['body.since'])
  })

  t.test('answers 400 for an address that may not be reached', async (t) => {
    const addresses = [
      'https://127.0.0.1',
      'https://169.254.169.254/latest',
      'https://[::1]',
      'https://localhost',
      'http://platform.example',
      'http://10.8.0.1',
      'https://10.8.0.1',
    ]
    const closed = await openService(t)
    const other = closed.client((await closed.makeOrganization()).key)
    const connection = { ...CONNECTION, base_url: 'http://10.9.0.1' }
    t.equal((await other.post('/import', { source: 'langfuse', connection })).status, 400)
    for (const base_url of addresses.filter((each) => each !== 'http://platform.example')) {
      t.equal((await ask({}, { base_url })).status, 400, base_url)
    }
    t.equal((await ask({}, { base_url: 'http://10.9.0.1:6006' })).status, 202, 'an allowed network')
  })

  t.test('is made once with its idempotency key', async (t) => {
    const key = { 'idempotency-key': 'pull-1' }
    const range = { since: '2026-01-01T00:00:00Z', until: '2026-01-02T00:00:00Z' }
    const [first, second] = [await ask(range, {}, key), await ask(range, {}, key)]
    t.equal(first.body.id, second.body.id)
    t.equal((await ask(range, { secret_key: `${PLATFORM_KEY}2` }, key)).status, 409)
  })

  t.test('is audited without keys', async (t) => {
    const [event] = await sql`
      select data, actor_key_id from audit_events
      where org_id = ${org.orgId} and action = 'import.pulled' order by id limit 1`
    const { base_url, project } = CONNECTION
    t.same(event, {
      actor_key_id: org.keyId,
      data: { source: 'langfuse', base_url: base_url.replace(/\/$/, ''), project },
    })
  })

  t.test('leaves nothing of its keys when it is canceled', async (t) => {
    const { body } = await ask()
    const canceled = await api.post(`/import/${body.id}/cancel`, {})
    t.match(canceled.body, { status: 'canceled' })
    t.same(await sql`select 1 from job_secrets where job_id = ${body.job_id}`, [])
  })

  t.test('that failed is not retried without its keys', async (t) => {
    const { body } = await ask()
    await sql`
      update jobs set state = 'failed', finished_at = now(),
        error = '{"code": "source_unavailable", "message": "x", "retryable": true}'
      where id = ${body.job_id}`
    const answer = await api.post(`/jobs/${body.job_id}/retry`, {})
    t.match(answer, { status: 409, body: { code: 'secret_gone' } })
  })

  t.test('needs a key that may write, and a project that it may use', async (t) => {
    const { raw } = await makeTestKey(sql, org.orgId, { scope: 'global', permissions: 'read' })
    const body = { source: 'langfuse', connection: CONNECTION }
    t.equal((await service.client(raw).post('/import', body)).status, 403)
    t.equal((await ask({ project: '01900000-0000-7000-8000-000000000001' })).status, 404)
  })
})
