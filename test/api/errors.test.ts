import t from 'tap'
import type { ServerInjectOptions } from '@hapi/hapi'
import { makeTestKey, openService } from '../support/service.ts'

t.test('every refusal', async (t) => {
  const service = await openService(t, { env: { QUOTA_TRACES_INGESTED: '1,1,1,1' } })
  const org = await service.makeOrganization()
  const poor = await service.makeOrganization('free')
  const read = await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })
  await service.client(org.key).post('/traces', { trace_id: 't', agent_name: 'a' })
  await service.client(org.key).post('/workspaces', { name: 'taken' })
  await service.client(poor.key).get('/jobs')
  await service.sql`
    update rate_buckets set full_at = now() + interval '1 hour' where org_id = ${poor.orgId}`

  const request = (method: string, path: string, payload?: unknown, key = org.key) => ({
    method,
    url: `/api/v1${path}`,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(payload !== undefined && { payload }),
  })
  /** 500 and 503 have tests of their own: hardening.test.ts and database-away.test.ts. */
  const refusals: [number, string, object][] = [
    [400, 'bad_request', request('POST', '/workspaces', '{"name":')],
    [400, 'bad_request', request('POST', '/api-keys', { label: 'x', scope: 'workspace' })],
    [401, 'unauthorized', request('GET', '/jobs', undefined, 'svc_sk_x')],
    [402, 'quota_exceeded', request('POST', '/traces', { trace_id: 'more', agent_name: 'a' })],
    [403, 'forbidden', request('POST', '/workspaces', { name: 'x' }, read.raw)],
    [404, 'not_found', request('GET', '/traces/none')],
    [404, 'not_found', request('GET', '/none')],
    [405, 'method_not_allowed', request('PUT', '/jobs', {})],
    [409, 'conflict', request('POST', '/workspaces', { name: 'taken' })],
    [413, 'payload_too_large', request('POST', '/workspaces', { name: 'x'.repeat(6 << 20) })],
    [422, 'validation_error', request('POST', '/workspaces', {})],
    [429, 'rate_limited', request('GET', '/jobs', undefined, poor.key)],
    [501, 'not_implemented', request('POST', '/webhooks/stripe', {})],
  ]

  for (const [status, code, asked] of refusals) {
    t.test(`${status} ${code} has the one shape`, async (t) => {
      const { statusCode, headers, payload } = await service.server.inject(
        asked as ServerInjectOptions,
      )
      t.equal(statusCode, status, payload.slice(0, 200))
      t.match(headers['content-type'], /^application\/json/)
      const body = JSON.parse(payload) as Record<string, unknown>
      t.equal(body['code'], code)
      t.equal(body['request_id'], headers['x-request-id'])
      const detail = body['detail'] as string | { message: string; resource: { id: string } }
      if (status === 409) t.match(detail, { message: String, resource: { id: String } })
      else t.equal(typeof detail, 'string')
    })
  }

  t.test('names all that is wrong with a request, not the first', async (t) => {
    const { body } = await service
      .client(org.key)
      .post('/traces/t/eval-scores?x=1', { source: 1, scores: [{ name: '' }, { score: 'a' }] })
    t.ok(body.details.errors.length >= 3, JSON.stringify(body))
    for (const { field, message } of body.details.errors) {
      t.match(field, /^(body|query|path)\b/)
      t.notOk(String(message).includes(String(field).split('.').at(-1) ?? ''), message)
    }
    const [{ field, message }] = body.details.errors
    t.match(body.detail, `${field} ${message} (and ${body.details.errors.length - 1} more)`)
  })

  t.test('tells a fault once, and the words that are allowed', async (t) => {
    const { get, post } = service.client(org.key)
    const score = await post('/traces/t/eval-scores', { scores: [{ name: 'a', score: 'x' }] })
    t.equal(score.body.detail, 'body.scores.0.score must be a number from 0 to 1, true or false')
    const key = await post('/api-keys', { label: 'x', scope: 'all' })
    t.equal(key.body.detail, 'body.scope must be one of [global, workspace, project]')
    const trace = await post('/traces', { agent_name: 'a', status: 'great' })
    t.equal(trace.body.detail, 'body.status must be one of success, error, partial, running')
    const batch = await post('/traces/batch', [{ agent_name: 'a', tags: 1 }])
    t.match(batch.body.errors, [{ message: 'tags must be a list' }])
    const violations = await get('/agents/a/violations?kind=odd')
    t.match(violations.body.detail, /^query\.kind must be one of \[.*guardrail_failed/)
    const changelog = await get('/changelog?types=manifest,news')
    t.match(
      changelog.body.detail,
      'query.types must be some of manifest, regression, audit, training, separated by commas',
    )
  })

  t.test('says where a body stops being JSON, and what stands there', async (t) => {
    const ask = async (payload: string) => {
      const { payload: answer } = await service.server.inject(
        request('POST', '/workspaces', payload) as ServerInjectOptions,
      )
      return (JSON.parse(answer) as { detail: string }).detail
    }
    const malformed = 'The body is not well-formed JSON: '
    t.equal(await ask('{"name":\n "x",}'), `${malformed}unexpected "}" at line 2, column 6`)
    t.equal(await ask('{"name":'), `${malformed}it ends at line 1, column 9`)
    t.match(await ask('{"__proto__":{}}'), /__proto__/)
  })
})
