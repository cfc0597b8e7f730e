import t from 'tap'
import { importTracesHandler } from '../../../workers/import/import-traces.ts'
import { makeAgent, openAgentService, toolComponent } from '../../support/agents.ts'
import fc from '../../support/property.ts'
import { gate } from '../../support/queues.ts'
import { recomputeCells } from '../../support/score-cells.ts'
import { openService } from '../../support/service.ts'
import { traceState } from '../../support/trace-state.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'

const env = { QUOTA_TRACES_INGESTED: '2,10,100,100000' }
const service = await openAgentService(t, { env })
const { sql } = service
await service.startWorkers([importTracesHandler])

const STARTED = {
  trace_id: 't',
  agent_name: 'support',
  status: 'running',
  started_at: '2026-03-01T10:00:00Z',
  user_input_preview: 'where is my umbrella',
}
const FINISHED = {
  ...STARTED,
  status: 'success',
  ended_at: '2026-03-01T10:00:05Z',
  spans: [{ id: 's', name: 'run' }],
  llm_calls: [{ output: { content: 'in the cupboard' }, tool_calls: [{ tool_name: 'look' }] }],
}
const IS_NEW = { status: 201, body: { created: true, updated: false } }
const IS_FINISHED = { status: 200, body: { created: false, updated: true } }
const IS_KNOWN = { status: 200, body: { created: false, updated: false } }

t.test('a trace that runs is finished by sending it again', async (t) => {
  const { client, settled, decision } = await makeAgent(service)
  t.match(await client.post('/traces', { ...STARTED, scores: { early: 0.5 } }), IS_NEW)
  await client.post('/traces/t/annotations', { notes: 'watch this' })
  await settled()
  const before = (await client.get('/traces/t')).body
  t.match(before, { status: 'running', revision: 0, verdict: null, spans: [] })
  t.equal((await client.get('/traces?q=umbrella')).body.total, 1, 'it is found while it runs')

  const finished = await client.post('/traces', { ...FINISHED, scores: { late: 1 } })
  t.match(finished, IS_FINISHED)
  t.match(finished.body, { id: 't', agent_name: 'support', spans: 1, llm_calls: 1, verdict: null })
  await settled()
  const { body } = await client.get('/traces/t')
  t.match(body, { status: 'success', revision: 1, duration_ms: 5000, tools_called: ['look'] })
  t.match(body, { created_at: before.created_at, annotations: [{ notes: 'watch this' }] })
  t.match(body.spans, [{ id: 's' }])
  const given = body.eval_scores.filter(({ source }: { source: string }) => source !== 'built_in')
  t.same(given.map(({ name }: { name: string }) => name).sort(), ['early', 'late'])
  t.equal(body.verdict, (await decision('t')).verdict, 'it is judged')
  t.match((await client.get('/traces')).body.traces, [{ trace_id: 't', revision: 1 }])
  for (const word of ['umbrella', 'cupboard']) {
    t.equal((await client.get(`/traces?q=${word}`)).body.total, 1, word)
  }
  t.equal(await countIngested(client), 1)
})

t.test('any other repetition leaves the stored trace as it is', async (t) => {
  const { client, settled } = await makeAgent(service)
  async function shown() {
    await settled()
    return (await client.get('/traces/t')).body
  }
  await client.post('/traces', STARTED)
  const started = await shown()
  t.match(await client.post('/traces', { ...STARTED, tags: ['again'] }), IS_KNOWN)
  t.same(await shown(), started, 'it still runs')
  await client.post('/traces', FINISHED)
  const finished = await shown()
  for (const again of [STARTED, FINISHED, { ...FINISHED, status: 'error' }]) {
    const answer = await client.post('/traces', again)
    t.match(answer, IS_KNOWN)
    t.match(answer.body, { spans: 1, llm_calls: 1 }, 'the facts are those of the stored one')
    t.match((await client.post('/traces/batch', [again])).body, {
      count: 0,
      updated: 0,
      skipped: 1,
    })
  }
  t.same(await shown(), finished)
})

t.test('of twenty that finish a trace at once, one does', async (t) => {
  const { org, client, settled } = await makeAgent(service)
  // Requests to one process go together; those of another one are in transactions of their own.
  const other = await openService(t, { url: service.url })
  const clients = [client, other.client(org.key)] as const
  await client.post('/traces', STARTED)
  await settled()
  const [held, release] = [gate(), gate()]
  const holding = sql.begin(async (tx) => {
    await tx`select from traces where org_id = ${org.orgId} for no key update`
    held.open()
    await release.opened
  })
  await held.opened
  const finishing = Array.from({ length: 20 }, (_, i) =>
    clients[i % 2 ? 0 : 1].post('/traces', { ...FINISHED, metadata: { i } }),
  )
  // A transaction of each process has seen it run.
  await until(async () => (await countLockWaits(sql)) === 2)
  release.open()
  await holding
  const answers = await Promise.all(finishing)
  const winners = answers.flatMap(({ body }, i) => (body.updated ? i : []))
  t.equal(winners.length, 1)
  t.ok(answers.every(({ status }) => status === 200))
  const { body } = await client.get('/traces/t')
  t.match(body, { revision: 1, metadata: { i: winners[0] } })
})

t.test('a batch starts, finishes and repeats traces', async (t) => {
  const { client } = await makeAgent(service)
  await client.post('/traces', STARTED)
  const { body } = await client.post('/traces/batch', [
    { ...STARTED, trace_id: 'both' },
    FINISHED,
    { ...FINISHED, trace_id: 'both', scores: { reward: 1 } },
    { ...FINISHED, trace_id: 'both', status: 'error' },
    { ...FINISHED, trace_id: 'whole' },
    { ...STARTED, trace_id: 'whole' },
  ])
  t.match(body, { count: 2, trace_ids: ['both', 'whole'], updated: 2, skipped: 2, errors: [] })
  for (const id of ['t', 'both', 'whole']) {
    t.match((await client.get(`/traces/${id}`)).body, { status: 'success', span_count: 1 }, id)
  }
  const { eval_scores } = (await client.get('/traces/both')).body
  t.ok(eval_scores.some(({ name }: { name: string }) => name === 'reward'))
  t.equal(await countIngested(client), 3)
})

t.test('a trace of the same id in another project is another one', async (t) => {
  const { client } = await makeAgent(service)
  await client.post('/traces', STARTED)
  t.match(await client.post('/traces?project=other', FINISHED), IS_NEW)
  t.match((await client.get('/traces/t?project=default')).body, { status: 'running', revision: 0 })
})

t.test('finishing is open to an organization that has used up its quota', async (t) => {
  const { key } = await service.makeOrganization('free')
  const client = service.client(key)
  await client.post('/traces', STARTED)
  const { body, headers } = await client.post('/traces/batch', [
    { ...FINISHED, trace_id: 'second' },
    { ...FINISHED, trace_id: 'third' },
    { ...FINISHED, scores: { reward: 1 } },
  ])
  t.match(body, { count: 1, updated: 1, errors: [{ trace_id: 'third', code: 'quota_exceeded' }] })
  t.equal(headers['x-quota-exceeded'], 'traces_ingested')
  const shown = (await client.get('/traces/t')).body
  t.match(shown, { status: 'success', revision: 1 })
  t.ok(shown.eval_scores.some(({ name }: { name: string }) => name === 'reward'))
})

t.test('a trace that cannot be finished costs only itself', async (t) => {
  const { client } = await makeAgent(service)
  const ids = ['a', 'cursed', 'b']
  await client.post(
    '/traces/batch',
    ids.map((trace_id) => ({ ...STARTED, trace_id })),
  )
  await sql.unsafe(`
    create function curse() returns trigger language plpgsql as
      $$ begin raise 'cursed'; end $$;
    create trigger curse before update on traces
      for each row when (old.trace_id = 'cursed') execute function curse()`)
  const { body } = await client.post(
    '/traces/batch',
    [...ids, 'new'].map((trace_id) => ({ ...FINISHED, trace_id })),
  )
  // The table is locked before its partitions, as it is by the workers that read traces meanwhile.
  await sql.begin(async (tx) => {
    await tx`lock table traces in access exclusive mode`
    await tx`drop function curse() cascade`
  })
  t.match(body, { count: 1, updated: 2, errors: [{ trace_id: 'cursed', code: 'internal_error' }] })
  const shown = ids.map(async (id) => (await client.get(`/traces/${id}`)).body.status as string)
  t.same(await Promise.all(shown), ['success', 'running', 'success'])
})

t.test('the manifest that the end names counts, as with a new trace', async (t) => {
  const { client, register, propose, settled } = await makeAgent(service)
  const { manifest_id: active } = await register([toolComponent('look')])
  const { manifest_id: draft } = await propose([toolComponent('look'), toolComponent('find')])
  await client.post('/traces', { ...STARTED, manifest_id: active })
  t.match(await client.post('/traces', { ...FINISHED, manifest_id: draft }), IS_FINISHED)
  await settled()
  t.match((await client.get('/traces/t')).body, { manifest_id: draft })
  t.match(
    (await client.get(`/manifests/${draft}`)).body,
    { status: 'active' },
    'production runs it',
  )

  await client.post('/traces', { ...STARTED, trace_id: 'u' })
  const unknown = '01900000-0000-7000-8000-000000000000'
  const { body } = await client.post('/traces', {
    ...FINISHED,
    trace_id: 'u',
    manifest_id: unknown,
  })
  t.match(body, { updated: true, warnings: [{ code: 'unknown_manifest' }] })
  t.match((await client.get('/traces/u')).body, {
    manifest_id: null,
    metadata: { unknown_manifest_id: unknown },
  })
})

t.test('an import leaves a trace that runs as it is', async (t) => {
  const { client } = await makeAgent(service)
  await client.post('/traces', STARTED)
  const { body } = await client.post('/import/traces', { traces: [FINISHED] })
  t.match(body, { status: 'succeeded', imported_count: 0, skipped_count: 1 })
  t.match((await client.get('/traces/t')).body, { status: 'running', revision: 0 })
})

t.test(
  'however a trace was started, finished and repeated, it is what it was first finished as',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(requests(), { minLength: 1, maxLength: 6 }), async (sent) => {
        const first = sent.flat()
        const ids = [...new Set(first.map(({ trace_id }) => trace_id))]
        const ends = ids.map((id) => {
          const own = first.filter(({ trace_id }) => trace_id === id)
          return own.find(({ status }) => status !== 'running') ?? own[0]
        })
        const [piecemeal, whole] = [await makeAgent(service), await makeAgent(service)]
        for (const traces of sent) {
          const isOne = traces.length === 1
          await piecemeal.client.post(
            isOne ? '/traces' : '/traces/batch',
            isOne ? traces[0] : traces,
          )
        }
        await whole.client.post('/traces/batch', ends)
        return t.same(await stateOf(piecemeal), await stateOf(whole))
      }),
      { numRuns: 10 },
    )
  },
)

async function countIngested({ get }: Agent['client']) {
  const metrics = (await get('/usage')).body.metrics as { metric: string; current: number }[]
  return metrics.find(({ metric }) => metric === 'traces_ingested')?.current
}

async function stateOf({ org, settled }: Agent) {
  await settled()
  await recomputeCells(sql, org)
  return traceState(sql, org.orgId, {})
}

type Agent = Awaited<ReturnType<typeof makeAgent>>

/** What one request sends: traces of a few ids, some of them of one conversation. */
function requests() {
  const trace = fc.record({
    trace_id: fc.constantFrom('a', 'b', 'c'),
    agent_name: fc.constantFrom('one', 'two'),
    status: fc.constantFrom('running', 'success', 'error'),
    text: fc.constantFrom('x', 'y'),
    day: fc.constantFrom(1, 2),
  })
  return fc.array(
    trace.map(({ text, day, ...each }) => ({
      ...each,
      // Copies have an order that does not depend on when they came.
      started_at: `2026-03-0${day}T10:0${'abc'.indexOf(each.trace_id)}:00Z`,
      llm_calls: [{ rendered_input: [{ role: 'user', content: text }], output: { content: text } }],
    })),
    { minLength: 1, maxLength: 4 },
  )
}
