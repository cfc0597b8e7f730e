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
  await Promise.all(Array.from({ length: 12 }, () => service.client(poor.key).get('/jobs')))

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
    for (const { field } of body.details.errors) t.match(field, /^(body|query|path)\b/)
  })
})
