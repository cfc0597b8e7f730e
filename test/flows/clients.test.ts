import t from 'tap'
import { loadHandlers } from '../support/handlers.ts'
import { openService } from '../support/service.ts'
import { settled } from '../support/settled.ts'
import { until } from '../support/until.ts'

// What deployed clients send, and what they read of the answers: a Python SDK with its command line, a CI
// action and an MCP server. They cannot be changed, so nothing here may change either.

const service = await openService(t)
await service.startWorkers(await loadHandlers())

t.test('the SDK probes its key when it starts', async (t) => {
  const { client } = await open()
  const verified = await client.get('/auth/verify')
  t.equal(verified.status, 200)
  t.match(verified.body, { api_key_valid: true, permissions: { write: true } })
  t.equal((await service.server.inject('/health')).statusCode, 200)
})

t.test('the SDK sends traces with scores of its evaluators', async (t) => {
  const { client, manifestId, manifestHash } = await open()
  const sent = await client.post('/traces/batch', [
    sdkTrace('t1', {
      manifest_id: manifestId,
      eval_scores: [
        { name: 'schema', score: 1, source: 'builtin', category: 'quality:deterministic' },
        { name: 'shape', score: 1, source: 'sdk', category: 'quality:structural' },
        { name: 'tone', score: 0.9, source: 'llm_judge', category: 'quality:llm_judge' },
        { name: 'harm', score: 1, source: 'builtin', category: 'safety' },
        { name: 'fit', score: 0.8, source: 'compat_engine', category: 'compatibility' },
      ],
    }),
    sdkTrace('t2', { eval_scores: [{ name: 'tone', score: 7 }] }),
    { ...sdkTrace('t3'), agent_name: null, manifest_id: 'manifest-of-mine' },
  ])
  t.equal(sent.status, 200)
  t.match(sent.body, { count: 3, trace_ids: ['t1', 't2', 't3'], errors: [] })
  t.same(
    sent.body.warnings.map(({ trace_id }: { trace_id: string }) => trace_id),
    ['t2', 't3'],
  )

  const scores = (await client.get('/traces/t1/eval-scores')).body
  t.match(
    scores.quality_scores.find(({ name }: { name: string }) => name === 'schema'),
    { source: 'built_in', category: 'quality', category_detail: 'quality:deterministic' },
  )
  t.match(
    scores.compatibility_scores.find(({ name }: { name: string }) => name === 'fit'),
    { category: 'compatibility', category_detail: null },
  )

  t.equal((await client.get('/traces/t1')).body.manifest_hash, manifestHash)
  for (const hash of [manifestHash, `sha256:${manifestHash}`]) {
    const found = (await client.get(`/traces?manifest_hash=${hash}`)).body
    t.same(idsOf(found.traces), ['t1'], hash)
  }
  t.match((await client.get('/traces/t3')).body, { agent_name: 'default', manifest_id: null })
})

t.test('the SDK pushes scores with the categories of its evaluators', async (t) => {
  const { client } = await open()
  await client.post('/traces', sdkTrace('t1'))
  const pushed = await client.post('/traces/t1/eval-scores', {
    source: 'builtin',
    scores: ['quality:safety', 'rag', 'agentic', 'custom'].map((category, i) => ({
      name: `metric-${i}`,
      score: 1,
      category,
    })),
  })
  t.equal(pushed.status, 200)
  t.equal(pushed.body.stored, 4)
})

t.test('the CI action compares every candidate with what runs in production', async (t) => {
  const { client, manifestId, orgId } = await open()
  const ids = Array.from({ length: 4 }, (_, i) => `t${i}`)
  const traces = ids.map((id) => sdkTrace(id, { manifest_id: manifestId }))
  await client.post('/traces/batch', traces)
  const scores = ids.map((trace_id) => ({ trace_id, name: 'tone', score: 0.95, source: 'sdk' }))
  await client.post('/eval-scores', { scores })

  const first = await checkCandidate(client, [SEARCH_WITH_KIND])
  await settled(service.sql, orgId)
  const decided = await readDecisions(client, ids)
  const second = await checkCandidate(client, [SEARCH_WITH_KIND, REFUND])
  for (const { candidateId, report } of [first, second]) {
    t.equal(report.status, 200)
    t.match(report.body, {
      verdict: 'high_risk',
      eval_verdict: 'regression_likely',
      baseline_manifest_id: manifestId,
      candidate_manifest_id: candidateId,
      total_traces_analyzed: 4,
      high_risk_count: 4,
      medium_risk_count: 0,
      low_risk_count: 0,
      diff_summary: { total_changes: Number },
      pr_context: { commit_sha: 'c0ffee' },
    })
    t.match(
      report.body.impacts.find(
        ({ surface_name }: { surface_name: string }) => surface_name === 'search',
      ),
      { severity: 'high', affected_trace_count: 4 },
    )
    t.same(Object.keys(report.body.pr_context), ['commit_sha'])
  }
  const rejection = { human_decision: 'rejected', note: 'breaks search' }
  await client.post(`/regression-check/${first.report.body.id}/decision`, rejection)
  t.match((await checkCandidate(client, [SEARCH_WITH_KIND])).report.body, {
    verdict: 'high_risk',
    baseline_manifest_id: manifestId,
  })

  const { manifests } = (await client.get('/manifests?agent_name=shop')).body
  t.same(
    manifests.map(({ status }: { status: string }) => status),
    ['draft', 'draft', 'active'],
  )
  t.same(await readDecisions(client, ids), decided, 'no verdict was decided anew')

  const diff = (await client.get(`/manifests/${first.candidateId}/diff`)).body.diff
  t.match(diff.changed_surfaces, [{ surface: 'tools', change_type: 'breaking' }])
  t.type(diff.changed_surfaces[0].details, 'string')
  t.match(diff.summary, { breaking_surfaces: 1, non_breaking_surfaces: 0 })
  t.ok(diff.summary.max_severity)
  const path = `/regression-check/${second.report.body.id}/call-replay?mode=mock`
  t.type((await client.post(path)).body.per_trace, 'string')
})

t.test('the command line lists, makes and registers evaluators', async (t) => {
  const { client } = await open()
  const template = (await client.get('/evaluators/templates')).body.templates[0]
  for (const member of ['template_id', 'name', 'eval_type', 'category', 'description']) {
    t.type(template[member], 'string', member)
  }
  const judge = {
    name: 'tone',
    display_name: 'Tone',
    eval_type: 'llm_judge',
    category: 'quality:llm_judge',
    prompt_template: 'How friendly is {{output}}?',
    threshold: 0.8,
    description: null,
    agent_name: null,
  }
  const made = await client.post('/evaluators', judge)
  t.equal(made.status, 201)
  t.equal((await client.post('/evaluators', { template_id: template.template_id })).status, 201)
  const builtIn = { name: 'completion', eval_type: 'deterministic', category: 'quality' }
  t.equal((await client.post('/evaluators', builtIn)).status, 200)
  const { evaluators } = (await client.get('/evaluators')).body
  for (const each of evaluators) {
    t.type(each.id, 'string')
    t.match(each, { name: String, display_name: String, eval_type: String, enabled: Boolean })
  }
  t.match(
    evaluators.find(({ name }: { name: string }) => name === 'tone'),
    { id: made.body.id, display_name: 'Tone', eval_type: 'llm_judge', agent_name: null },
  )
})

t.test('the command line evaluates a trace', async (t) => {
  const { client } = await open()
  await client.post('/traces', sdkTrace('t1'))
  const evaluated = await client.post('/traces/t1/evaluate', { mode: 'deterministic' })
  t.equal(evaluated.status, 200)
  t.match(evaluated.body.checks[0], { check: String, score: Number, passed: Boolean })
  const judged = await client.post('/traces/t1/evaluate', { mode: 'llm_judge' })
  t.equal(judged.status, 501)
  t.equal(judged.body.code, 'not_supported')
})

t.test('the command line builds a dataset of the traces to keep', async (t) => {
  const { client } = await open()
  await client.post('/traces/batch', [
    sdkTrace('good', { eval_scores: [{ name: 'tone', score: 1, source: 'human' }] }),
    sdkTrace('bad', { eval_scores: [{ name: 'tone', score: 0, source: 'human' }] }),
  ])
  await judged(client, ['good', 'bad'])
  const dataset = await client.post('/datasets', { name: 'kept', dataset_type: 'sft' })
  const built = await client.post(`/datasets/${dataset.body.id}/build`, {
    filters: { eval_verdict: 'keep' },
  })
  t.equal(built.status, 201)
  t.equal(built.body.row_count, 1)
  const file = await client.get(`/datasets/${dataset.body.id}/versions/latest/export?format=jsonl`)
  t.equal(JSON.parse(file.body).provenance.trace_id, 'good')
})

t.test('a client over its rate or quota reads which and until when', async (t) => {
  const { key } = await service.makeOrganization('free')
  const client = service.client(key)
  const answers = await Promise.all(Array.from({ length: 20 }, () => client.get('/usage')))
  const limited = answers.find(({ status }) => status === 429)
  t.ok(limited?.headers['retry-after'])
  t.type(limited?.headers['x-quota-exceeded'], 'string')
  t.type(limited?.body.detail, 'string')
  t.type(limited?.body.resets_in_seconds, 'number')
})

type Client = ReturnType<typeof service.client>

const SEARCH = tool('search', { q: { type: 'string' } }, ['q'])
const SEARCH_WITH_KIND = tool('search', { q: { type: 'string' }, kind: { type: 'string' } }, [
  'q',
  'kind',
])
const REFUND = tool('refund', { id: { type: 'string' } })

/** An organization whose agent `shop` runs its first version, as the SDK registers it. */
async function open() {
  const { key, orgId } = await service.makeOrganization()
  const client = service.client(key)
  const { body } = await registerWithSdk(client, [SEARCH])
  return {
    client,
    orgId,
    manifestId: body.manifest_id,
    manifestHash: body.manifest_hash.replace('sha256:', ''),
  }
}

async function registerWithSdk(client: Client, components: readonly object[]) {
  return client.post('/manifests', {
    agent_name: 'shop',
    components,
    detection_source: 'sdk',
    agent_models_json: { shop: 'gpt-4o' },
    graph_topology_hash: null,
    component_summary_json: { tools: components.length },
    version_label: null,
  })
}

/** What the CI action does on a push: outside a pull request most members are null. */
async function checkCandidate(client: Client, components: readonly object[]) {
  const registered = await registerWithSdk(client, components)
  const report = await client.post('/regression-check', {
    agent_name: 'shop',
    candidate_manifest_id: registered.body.manifest_id,
    pr_context: { pr_number: null, branch: null, commit_sha: 'c0ffee', repo: null, actor: null },
    source: 'ci',
  })
  return { candidateId: registered.body.manifest_id as string, report }
}

function sdkTrace(id: string, more: object = {}) {
  return {
    id,
    agent_name: 'shop',
    session_id: null,
    status: 'success',
    user_input_preview: `where is order ${id}`,
    final_output_preview: 'on its way',
    llm_calls: [
      {
        model_name: 'gpt-4o',
        rendered_input: [{ role: 'user', content: `where is order ${id}` }],
        output: { role: 'assistant', content: 'on its way' },
        tool_calls: [{ tool_name: 'search', args: { q: id }, result: 'shipped' }],
      },
    ],
    ...more,
  }
}

function tool(component_name: string, properties: object, required: string[] = []) {
  const input_schema = { type: 'object', properties, required }
  return { component_type: 'tool', component_name, schema_json: { input_schema } }
}

/** The decisions on traces once all are judged. */
async function judged(client: Client, ids: readonly string[]) {
  return until(async () => {
    const decisions = await Promise.all(ids.map((id) => client.get(`/traces/${id}/decision`)))
    return decisions.every(({ status }) => status === 200) && decisions.map(({ body }) => body)
  })
}

async function readDecisions(client: Client, ids: readonly string[]) {
  const decisions = await judged(client, ids)
  return decisions.map(({ decided_at, verdict, target_manifest_id }) => ({
    decided_at,
    verdict,
    target_manifest_id,
  }))
}

function idsOf(traces: readonly { id: string }[]) {
  return traces.map(({ id }) => id)
}
