import { randomBytes } from 'node:crypto'
import t from 'tap'
import { makeKey } from '../../jobs/rules/access/api-key.ts'
import { findFreePort } from '../../ops/free-port.ts'
import { startCollector } from '../support/collector.ts'
import { openTestDatabase } from '../support/database.ts'
import { launch } from '../support/program.ts'
import { until } from '../support/until.ts'

t.test('spans of the service', async (t) => {
  const { url } = await openTestDatabase(t)
  const key = makeKey('svc_', randomBytes(64))
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }

  async function openApi(collector: string) {
    const env = {
      DATABASE_URL: url,
      INIT_API_KEY: key,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector,
      OTEL_SERVICE_NAME: 'our-api',
      DRAIN_SECONDS: '1',
    }
    const api = launch(t, 'start-api.ts', env)
    const address = await until(() => /"address":"(http[^"]+)"/.exec(api.stderr())?.[1])
    return { ...api, address }
  }

  t.test('lead from a request over its job to each statement, in one trace', async (t) => {
    const collector = await startCollector(t)
    const env = { DATABASE_URL: url, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
    const api = await openApi(collector.url)
    const workers = launch(t, 'start-workers.ts', env, ['--pool', 'evals'])
    const traceId = randomBytes(16).toString('hex')
    const parent = randomBytes(8).toString('hex')
    const sent = await fetch(`${api.address}/api/v1/traces`, {
      method: 'POST',
      headers: { ...headers, traceparent: `00-${traceId}-${parent}-01`, 'x-request-id': 'asked' },
      body: JSON.stringify({ trace_id: 'traced', agent_name: 'SECRET' }),
    })
    t.equal(sent.status, 201)
    await fetch(`${api.address}/livez`)
    // They are sent every five seconds. A stop sends the rest, and on a busy machine may lose it.
    const isSent = (name: string) =>
      collector.spans.some((span) => span.traceId === traceId && span.name === name)
    await until(() => isSent('POST /api/v1/traces') && isSent('process evals.judge'))
    t.same(await Promise.all([api.stop('SIGTERM'), workers.stop('SIGTERM')]), [0, 0])

    const spans = collector.spans.filter((span) => span.traceId === traceId)
    const spanOf = (name: string) => {
      const found = spans.filter((span) => span.name === name)
      t.equal(found.length, 1, name)
      return found[0]
    }
    const childrenOf = (span: { spanId: string } | undefined) =>
      spans.filter(({ parentSpanId }) => parentSpanId === span?.spanId)
    const request = spanOf('POST /api/v1/traces')
    t.match(request, { service: 'our-api', parentSpanId: parent })
    t.match(request?.attributes, { 'adl.request_id': 'asked', 'http.response.status_code': 201 })
    const send = spanOf('send evals.judge')
    t.equal(send?.parentSpanId, request?.spanId)
    const run = spanOf('process evals.judge')
    t.match(run, { service: 'workers', parentSpanId: send?.spanId })
    t.match(run?.attributes, { 'adl.request_id': 'asked', 'adl.outcome': 'done' })
    for (const parent of [request, send, run]) {
      const statements = childrenOf(parent).filter(({ attributes }) => attributes['db.query.text'])
      t.ok(statements.length > 0, `statements of ${parent?.name}`)
    }
    t.notMatch(JSON.stringify(collector.spans), 'SECRET')
    t.notMatch(JSON.stringify(collector.spans), '/livez')
    const roots = collector.spans.filter(({ parentSpanId }) => !parentSpanId)
    t.same(
      roots.filter(({ attributes }) => attributes['db.query.text']),
      [],
    )
  })

  t.test('are lost without harm where nobody collects them', async (t) => {
    const api = await openApi(`http://127.0.0.1:${await findFreePort()}`)
    for (let i = 0; i < 3; i++) {
      t.equal((await fetch(`${api.address}/api/v1/projects`, { headers })).status, 200)
    }
    t.equal(await api.stop('SIGTERM'), 0)
    const lines = api.stderr().trimEnd().split('\n')
    const told = lines.filter((line) => line.includes('spans are lost')).length
    t.ok(told === 1 || told === 2, 'by an export, and by a stop that waits for one in vain')
    t.ok(lines.every((line) => JSON.parse(line) as object))
  })
})
