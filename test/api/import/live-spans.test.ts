import t from 'tap'
import { requestSettling } from '../../../jobs/settle-traces.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { makeAgent, openAgentService } from '../../support/agents.ts'
import { exportRequest, spanId, traceId } from '../../support/otlp.ts'
import type { GivenSpan } from '../../support/otlp.ts'
import { otlpClient } from '../../support/otlp-client.ts'
import { openService } from '../../support/service.ts'
import { settleTracesHandler } from '../../../workers/evals/settle-traces.ts'

const env = { QUOTA_TRACES_INGESTED: '2,10,100,100000' }
const service = await openAgentService(t, { env })
await service.startWorkers([settleTracesHandler])
const { sql } = service
const TRACE = traceId(1)
const ROOT: GivenSpan = { trace: TRACE, id: spanId(1), from: 0, to: 5 }
const CHILD: GivenSpan = { trace: TRACE, id: spanId(2), parent: spanId(1), from: 1, to: 2 }
const GRANDCHILD: GivenSpan = { trace: TRACE, id: spanId(3), parent: spanId(2), from: 1, to: 2 }
/** Members that are undefined here may not be there. */
const ALL_TAKEN = {
  status: 200,
  body: { partialSuccess: { rejectedSpans: undefined, errorMessage: undefined } },
}

t.test('spans of one trace', async (t) => {
  t.test('are one trace, which can be read at once', async (t) => {
    const { client, send } = await makeSender()
    t.match(await send([CHILD]), ALL_TAKEN)
    t.match(await shown(client), { status: 'running', span_count: 1, revision: 0 })
    t.equal((await client.get('/traces')).body.total, 1)
    t.match(await send([ROOT]), ALL_TAKEN)
    t.match(await shown(client), { status: 'success', span_count: 2, revision: 1 })
    t.match(await send([GRANDCHILD]), ALL_TAKEN)
    const trace = await shown(client)
    t.match(trace, { span_count: 3, revision: 2, source_type: 'production', duration_ms: 5000 })
    t.match(trace.spans, [
      { id: ROOT.id },
      { id: CHILD.id, parent_span_id: ROOT.id },
      { id: GRANDCHILD.id },
    ])
  })

  t.test('that come again change nothing and have nothing judged', async (t) => {
    const { org, client, send, settled } = await makeSender()
    await send([ROOT, CHILD])
    await due(org.orgId)
    await settled()
    const [before, jobs] = [await row(org.orgId), await countJobs(org.orgId)]
    t.ok(before['verdict'], 'it was judged')
    for (const spans of [[ROOT], [CHILD], [CHILD, ROOT], [ROOT, CHILD, ROOT]]) {
      t.match(await send(spans), ALL_TAKEN)
    }
    t.same(await row(org.orgId), before)
    t.equal(await countJobs(org.orgId), jobs)
    t.equal(await ingested(client), 1)
  })

  t.test('may come in many requests at once', async (t) => {
    const { client, send } = await makeSender()
    const spans = Array.from({ length: 60 }, (_, i) => ({ ...CHILD, id: spanId(i + 2) }))
    const answers = await Promise.all([ROOT, ...spans].map((span) => send([span])))
    for (const answer of answers) t.match(answer, ALL_TAKEN)
    t.match(await shown(client), { status: 'success', span_count: 61 })
  })

  t.test('may come to two processes at once, and none is lost', async (t) => {
    const { org, client, send } = await makeSender()
    const other = otlpClient(await openService(t, { url: service.url, env }), org.key)
    await send([ROOT])
    const spans = Array.from({ length: 60 }, (_, i) => ({ ...CHILD, id: spanId(i + 2) }))
    const sendAll = async (each: readonly GivenSpan[], to: Send) => {
      for (const span of each) t.match(await to([span]), ALL_TAKEN)
    }
    await Promise.all([
      sendAll(spans.slice(0, 30), send),
      sendAll(spans.slice(20), (given) => other.send(exportRequest(given))),
      sendAll(spans.slice(10, 40).toReversed(), (given) => other.send(exportRequest(given))),
    ])
    t.match(await shown(client), { status: 'success', span_count: 61 })
  })

  t.test('are added under a lock when others are always faster', async (t) => {
    const { org, client, send } = await makeSender()
    await send([ROOT])
    const slow = await openService(t, { url: service.url, env })
    const { queue } = slow.context
    let tries = 0
    async function transaction(...[on, work]: Parameters<typeof queue.transaction>) {
      if (++tries > 10) throw new Error('It never gets through')
      await sql`update traces set revision = revision + 1 where org_id = ${org.orgId}`
      return queue.transaction(on, work)
    }
    Object.assign(slow.context, {
      queue: Object.create(queue, { transaction: { value: transaction } }),
    })
    t.match(await otlpClient(slow, org.key).send(exportRequest([CHILD])), ALL_TAKEN)
    t.equal(tries, 4)
    t.match(await shown(client), { span_count: 2, revision: 5 })
  })

  t.test('may tell scores, which come once', async (t) => {
    const { org, client, settled } = await makeSender()
    const { send } = otlpClient(service, org.key)
    const request = exportRequest([ROOT, CHILD])
    const [span] = request.resourceSpans[0]?.scopeSpans[0]?.spans ?? []
    const event = (name: string, value: number) => ({
      name: 'gen_ai.evaluation.result',
      attributes: [
        { key: 'gen_ai.evaluation.name', value: { stringValue: name } },
        { key: 'gen_ai.evaluation.score.value', value: { doubleValue: value } },
      ],
    })
    Object.assign(span ?? {}, {
      events: [event('relevance', 0.75)],
      attributes: Object.entries({ name: 'tone', score: 0.5, annotator_kind: 'LLM' }).map(
        ([name, value]) => ({
          key: `annotations.0.annotation.${name}`,
          value: typeof value === 'number' ? { doubleValue: value } : { stringValue: value },
        }),
      ),
    })
    for (let times = 0; times < 2; times++) t.match(await send(request), ALL_TAKEN)
    await due(org.orgId)
    await settled()
    const { body } = await client.get(`/traces/${TRACE}/eval-scores`)
    const scores = body.quality_scores as { name: string; value: number; source: string }[]
    const told = scores.filter(({ name }) => name === 'relevance' || name === 'tone')
    t.equal(told.length, 2)
    t.match(Object.fromEntries(told.map((score) => [score.name, score])), {
      relevance: { value: 0.75, source: 'external' },
      tone: { value: 0.5, source: 'llm_judge' },
    })
  })

  t.test('have the one that ended where two have one id', async (t) => {
    const { client, send } = await makeSender()
    await send([{ ...ROOT, to: 5 }])
    await send([{ ...ROOT, to: 9 }])
    await send([{ ...ROOT, to: 7 }])
    t.match(await shown(client), { duration_ms: 9000, span_count: 1, revision: 1 })
  })

  t.test('that come while it is read by page are not shown twice, and hide none', async (t) => {
    const { client, send } = await makeSender()
    const later = [3, 4, 5].map((from) => ({ ...CHILD, id: spanId(10 - from), from, to: 6 }))
    await send([ROOT, ...later])
    const path = `/traces/${TRACE}/spans?limit=2`
    const first = (await client.get(path)).body
    t.match(first, { spans: [{ id: ROOT.id }, { id: later[0]?.id }], total: 4 })
    await send([CHILD, { ...GRANDCHILD, from: 9, to: 10 }])
    const second = (await client.get(`${path}&cursor=${first.next_cursor}`)).body
    t.match(second, { spans: [{ id: later[1]?.id }, { id: later[2]?.id }], total: 6 })
    const third = (await client.get(`${path}&cursor=${second.next_cursor}`)).body
    t.match(third, { spans: [{ id: GRANDCHILD.id }], next_cursor: null })
  })

  t.test('that another trace takes the place of cannot be read on', async (t) => {
    const { client, send } = await makeSender()
    await send([CHILD, GRANDCHILD])
    const path = `/traces/${TRACE}/spans?limit=1`
    const { next_cursor } = (await client.get(path)).body
    const spans = ['a', 'b', 'c'].map((id) => ({ id }))
    await client.post('/traces', { trace_id: TRACE, status: 'success', spans })
    t.match(await client.get(`${path}&cursor=${next_cursor}`), {
      status: 409,
      body: { detail: /replaced: read its spans from the first page/ },
    })
  })

  t.test('make it new after it was deleted', async (t) => {
    const { client, send } = await makeSender()
    await send([ROOT, CHILD])
    t.equal((await client.delete(`/traces/${TRACE}`)).status, 204)
    t.match(await send([GRANDCHILD]), ALL_TAKEN)
    t.match(await shown(client), { status: 'running', span_count: 1, revision: 0 })
  })

  t.test('say what the trace says', async (t) => {
    const { client, send } = await makeSender()
    const attributes = { 'session.id': 's', 'user.id': 'u', 'gen_ai.agent.name': 'helper' }
    await send([{ ...ROOT, attributes }], { fixture: 'yes' })
    t.match(await shown(client), { session_id: 's', user_id: 'u', agent_name: 'helper' })
  })
})

t.test('spans are refused', async (t) => {
  t.test('whose ids are malformed, without the others', async (t) => {
    const { client, send } = await makeSender()
    const { status, body } = await send([
      ROOT,
      { ...CHILD, id: 'xyz' },
      { ...CHILD, trace: traceId(0) },
    ])
    t.equal(status, 200)
    t.match(body.partialSuccess, { rejectedSpans: 2, errorMessage: /spans/ })
    t.match(await shown(client), { span_count: 1 })
  })

  t.test('of a trace that was stored as a whole', async (t) => {
    const { client, send } = await makeSender()
    for (const [n, status] of [
      [1, 'success'],
      [2, 'running'],
    ] as const) {
      const sent = { trace_id: traceId(n), status, spans: [{ id: spanId(1), name: 'run' }] }
      t.equal((await client.post('/traces', sent)).status, 201)
      const refused = await send([
        { ...CHILD, trace: traceId(n) },
        { ...ROOT, trace: traceId(3) },
      ])
      t.match(refused.body.partialSuccess, { rejectedSpans: 1, errorMessage: /trace_exists/ })
      t.match((await client.get(`/traces/${traceId(n)}`)).body, {
        status,
        span_count: 1,
        revision: 0,
      })
    }
  })

  t.test('past 10,000 of one trace', async (t) => {
    const { client, send } = await makeSender()
    const spans = Array.from({ length: 9999 }, (_, i) => ({ ...CHILD, id: spanId(i + 2) }))
    t.match(await send(spans), ALL_TAKEN)
    const [full, fits] = await Promise.all([
      send([ROOT, { ...CHILD, id: spanId(20_000) }]),
      send([ROOT, CHILD]),
    ])
    t.match(full.body.partialSuccess, { rejectedSpans: 2, errorMessage: /trace_full/ })
    t.match(fits, ALL_TAKEN, 'another request at the same time may fit')
    t.match(await shown(client), { status: 'success', span_count: 10_000 })
    t.match(await send([CHILD]), ALL_TAKEN, 'what is there is taken')
  })

  t.test('past 32 MiB of one trace', async (t) => {
    const { client, send } = await makeSender()
    const large = (n: number) => ({
      ...CHILD,
      id: spanId(n),
      attributes: { note: `${n}`.repeat(7 << 20) },
    })
    await send([ROOT, large(2), large(3)])
    t.match(await send([large(4), large(5)]), ALL_TAKEN)
    const [first, second] = await Promise.all([
      send([large(6)]),
      send([{ ...GRANDCHILD, id: spanId(9) }]),
    ])
    t.match(first.body.partialSuccess, { rejectedSpans: 1, errorMessage: /trace_full/ })
    t.match(second, ALL_TAKEN)
    t.match((await client.get('/traces')).body.traces, [{ span_count: 6 }])
  })

  t.test('that are too large, without the others', async (t) => {
    const { client, send } = await makeSender()
    const names = Array.from({ length: 5001 }, (_, i) => [`n${i}`, ''])
    for (const attributes of [{ note: 'x'.repeat(9 << 20) }, Object.fromEntries(names)]) {
      const { body } = await send([ROOT, { ...CHILD, attributes }])
      t.match(body.partialSuccess, { rejectedSpans: 1, errorMessage: /span_too_large/ })
    }
    t.match(await shown(client), { span_count: 1 })
  })

  t.test('past the quota, which counts traces', async (t) => {
    const { client, send } = await makeSender('free')
    t.match(await send([ROOT, CHILD, { ...ROOT, trace: traceId(2) }]), ALL_TAKEN)
    const both = await send([{ ...ROOT, trace: traceId(3) }, GRANDCHILD])
    t.match(both.body.partialSuccess, { rejectedSpans: 1, errorMessage: /traces_ingested/ })
    t.equal(both.headers['x-quota-exceeded'], 'traces_ingested')
    t.match(await shown(client), { span_count: 3 }, 'one that is there takes further spans')
    const none = await send([{ ...ROOT, trace: traceId(3) }])
    t.match(none, { status: 402, body: { code: 8, error: 'quota_exceeded' } })
    t.equal(none.headers['x-quota-exceeded'], 'traces_ingested')
    t.equal(await ingested(client), 2)
  })
})

t.test('as many traces are taken as the quota has left', async (t) => {
  const { client, send } = await makeSender('free')
  const many = await send([1, 2, 3].map((n) => ({ ...ROOT, trace: traceId(n) })))
  t.match(many, { status: 200, body: { partialSuccess: { rejectedSpans: 1 } } })
  t.equal(await ingested(client), 2)
  t.equal((await client.get('/traces')).body.total, 2)
})

t.test('a trace that is sent by POST /traces', async (t) => {
  t.test('finishes one whose root did not come, which takes no further spans', async (t) => {
    const { org, client, send, settled } = await makeSender()
    await send([CHILD])
    const finished = { trace_id: TRACE, status: 'success', spans: [{ id: 'own', name: 'run' }] }
    t.match(await client.post('/traces', finished), { status: 200, body: { updated: true } })
    await settled()
    t.match(await row(org.orgId), { made_of_spans: false, settles_at: null, revision: 1 })
    t.match((await send([ROOT])).body.partialSuccess, {
      rejectedSpans: 1,
      errorMessage: /trace_exists/,
    })
    t.match(await shown(client), { spans: [{ id: 'own' }], verdict: String })
    t.equal(await ingested(client), 1)
  })

  t.test('leaves one with its root, and one that settled, as they are', async (t) => {
    const { org, client, send, settled } = await makeSender()
    await send([ROOT])
    await send([{ ...CHILD, trace: traceId(2) }])
    await due(org.orgId)
    await settled()
    for (const [trace, status] of [
      [TRACE, 'success'],
      [traceId(2), 'partial'],
    ] as const) {
      const sent = await client.post('/traces', { trace_id: trace, status: 'error' })
      t.match(sent, { status: 200, body: { created: false, updated: false } })
      t.match((await client.get(`/traces/${trace}`)).body, { status, revision: 0 })
    }
  })
})

type Send = (spans: readonly GivenSpan[]) => Promise<object>

async function makeSender(plan: 'free' | 'enterprise' = 'enterprise') {
  const agent = await makeAgent(service)
  await sql`update organizations set plan = ${plan} where id = ${agent.org.orgId}`
  const { send } = otlpClient(service, agent.org.key)
  return {
    ...agent,
    send: (spans: readonly GivenSpan[], resource: Record<string, string> = {}) =>
      send(exportRequest(spans, resource)),
  }
}

/** Has the traces of an organization settled now, as if their time had come. */
async function due(orgId: string) {
  await sql`update traces set settles_at = now() where org_id = ${orgId} and settles_at is not null`
  await service.context.queue.transaction(sql, async (tx: Transaction) => {
    const projects = await tx<{ id: string }[]>`select id from projects where org_id = ${orgId}`
    for (const { id } of projects) await requestSettling(service.context.queue, tx, orgId, id, 0)
  })
}

async function shown(client: Client) {
  return (await client.get(`/traces/${TRACE}`)).body
}

/** All columns of the trace, and its decision. */
async function row(orgId: string) {
  const [found] = await sql<Record<string, unknown>[]>`
    select t.*, v.verdict, v.decided_at from traces t
    left join verdicts v using (org_id, project_id, trace_id)
    where t.org_id = ${orgId} and t.trace_id = ${TRACE}`
  return found ?? {}
}

async function countJobs(orgId: string) {
  const [counted] = await sql<{ n: number }[]>`
    select count(*)::int as n from pgboss.job where data->>'org_id' = ${orgId}`
  return counted?.n
}

async function ingested({ get }: Client) {
  const metrics = (await get('/usage')).body.metrics as { metric: string; current: number }[]
  return metrics.find(({ metric }) => metric === 'traces_ingested')?.current
}

type Client = Awaited<ReturnType<typeof makeAgent>>['client']
