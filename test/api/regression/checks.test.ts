import t from 'tap'
import type { Test } from 'tap'
import { DAY_MS } from '../../../jobs/rules/core/time.ts'
import { registeredAgent } from '../../support/registered-agent.ts'
import type { RegisteredAgent } from '../../support/registered-agent.ts'
import { openService } from '../../support/service.ts'
import { storeVersion } from '../../support/stored-version.ts'
import { checkRegressionHandler } from '../../../workers/regression/check-regression.ts'

const service = await openService(t)
await service.startWorkers([checkRegressionHandler])

/** Members of every report, whatever its state. */
const MEMBERS =
  'agent_name baseline_manifest_id candidate_manifest_id status verdict verdict_message structural_severity human_summary high_risk_count medium_risk_count low_risk_count total_traces_analyzed diff_summary pr_context error_message created_at eval_verdict eval_breakdown downstream_impact call_replay source baseline_manifest_label baseline_manifest_hash candidate_manifest_label candidate_manifest_hash human_decision impacts compat_summary verdicts_by_score affected_trace_count metrics warnings data_fingerprint job_id'.split(
    ' ',
  )

const SEARCH = { q: { type: 'string' } }
const V1 = [tool('search', SEARCH, ['q']), tool('refund', { id: { type: 'string' } })]
const WITHOUT_SEARCH = [V1[1]]
const WITHOUT_REFUND = [V1[0]]

t.test('the first check of an agent registers its candidate as the baseline', async (t) => {
  const { client, register, propose } = await open(t)
  const v1 = await register(V1)
  const first = await client.post('/regression-check', check(v1, { source: 'ci' }))
  t.equal(first.status, 200)
  t.match(first.body, { verdict: 'first_run', status: 'completed', impacts: [], source: 'ci' })
  t.match(first.body, { eval_verdict: 'first_run', diff_summary: { first_run: true } })
  t.ok(first.body.id)
  isComplete(t, first.body)
  const v2 = await propose(WITHOUT_SEARCH)
  const v3 = await propose(WITHOUT_REFUND)
  t.equal((await client.post('/regression-check', check(v2))).body.baseline_manifest_id, v1)
  t.equal((await client.post('/regression-check', check(v3))).body.baseline_manifest_id, v1)
})

t.test('a dry run answers the same and leaves nothing behind', async (t) => {
  const { client, register, orgId } = await open(t)
  const v1 = await register(V1)
  const dry = await client.post(
    '/regression-check?dry_run=true',
    check(v1, { pr_context: { repo: 'a/b' } }),
  )
  t.match(dry.body, { verdict: 'first_run', pr_context: null, job_id: null })
  t.notOk('id' in dry.body)
  isComplete(t, dry.body)
  t.equal((await client.get('/regression-check')).body.total, 0)
  const [left] = await service.sql`
    select (select count(*) from jobs where org_id = ${orgId} and kind = 'regression.check') as jobs,
      (select count(*) from regression_baselines where org_id = ${orgId}) as baselines,
      (select count(*) from usage where org_id = ${orgId} and metric = 'regression_checks') as charges`
  t.same(left, { jobs: 0, baselines: 0, charges: 0 })
  t.match((await client.post('/regression-check', check(v1))).body, { verdict: 'first_run' })
  t.match((await usageOf(client)).current, 1)
})

t.test('changes that no trace can measure are unverified, never a pass', async (t) => {
  const { client, register } = await open(t)
  await register(V1)
  const v2 = await register(WITHOUT_SEARCH)
  const { body } = await client.post('/regression-check', check(v2))
  t.match(body, { verdict: 'unverified', structural_severity: 'high', total_traces_analyzed: 0 })
  t.match(body.impacts, [{ surface_change_type: 'tool_removed', severity: 'high' }])
  isComplete(t, body)
})

t.test('a candidate of the same structure has no change', async (t) => {
  const { client, register } = await open(t)
  const v1 = await register(V1)
  await client.post('/regression-check', check(v1))
  const { body } = await client.post('/regression-check', check(v1))
  t.match(body, { verdict: 'no_change', structural_severity: null, impacts: [] })
})

t.test('a tool that traffic calls is high risk when it is removed', async (t) => {
  const { client, register, traces } = await open(t)
  const v1 = await register(V1)
  await traces(v1, 3, { tool: 'search', quality: 1 })
  await traces(v1, 1, { tool: 'search', quality: 0.1 })
  await traces(v1, 2, { tool: 'search', quality: null })
  await traces(v1, 2, { tool: 'refund', quality: 1 })
  const v2 = await register(WITHOUT_SEARCH)
  const { body } = await client.post('/regression-check', check(v2))
  t.match(body, {
    verdict: 'high_risk',
    eval_verdict: 'regression_likely',
    total_traces_analyzed: 8,
    affected_trace_count: 6,
    high_risk_count: 6,
    medium_risk_count: 0,
    human_summary:
      'High risk by structure: tool search: tool removed; used by 6 of 8 traces. High risk by traffic: 6 of 8 traces (75 %) would have to be replayed or dropped.',
    compat_summary: { keep: 2, repair: 0, replay: 6, drop: 0 },
    verdicts_by_score: {
      passing: { keep: 2, repair: 0, replay: 3, drop: 0 },
      failing: { keep: 0, repair: 0, replay: 1, drop: 0 },
      unscored: { keep: 0, repair: 0, replay: 2, drop: 0 },
    },
    impacts: [{ verdicts: { keep: 0, repair: 0, replay: 6, drop: 0 } }],
    eval_breakdown: { passing_affected: 3, failing_affected: 1, unscored_affected: 2 },
    diff_summary: { total_changes: 1, high_severity_changes: 1 },
    baseline_manifest_label: 'v1',
    candidate_manifest_label: 'v2',
    downstream_impact: {
      evaluators: {
        stale_count: 1,
        sample_evaluator_names: ['reward'],
        surfaces_causing_staleness: ['tool:search'],
      },
    },
  })
  t.equal(body.impacts[0].sample_trace_ids.length, 6)
  isComplete(t, body)
})

t.test('a tool that nobody calls is low risk when it is removed', async (t) => {
  const { client, register, traces } = await open(t)
  const v1 = await register(V1)
  await traces(v1, 2, { tool: 'search' })
  const v2 = await register(WITHOUT_REFUND)
  const { body } = await client.post('/regression-check', check(v2))
  t.match(body, { verdict: 'low_risk', eval_verdict: 'clean', affected_trace_count: 0 })
})

t.test('a change that only failing traces use is an expected impact', async (t) => {
  const { client, register, traces } = await open(t)
  const v1 = await register(V1)
  await traces(v1, 2, { tool: 'search', quality: 0.1 })
  await traces(v1, 2, { tool: 'refund', quality: 1 })
  const v2 = await register(WITHOUT_SEARCH)
  t.match((await client.post('/regression-check', check(v2))).body, {
    verdict: 'high_risk',
    eval_verdict: 'expected_impact',
  })
})

t.test('a tool renamed under traffic is high risk, though its calls can be repaired', async (t) => {
  const { client, register, traces } = await open(t)
  const v1 = await register(V1)
  await traces(v1, 2, { tool: 'search' })
  const v2 = await register([tool('find', SEARCH, ['q']), V1[1]])
  t.match((await client.post('/regression-check', check(v2))).body, {
    verdict: 'high_risk',
    compat_summary: { repair: 2 },
  })
})

t.test('a tool whose result changes is a risk to the traffic that calls it', async (t) => {
  const { client, register, traces } = await open(t)
  const search = (told: object) => {
    const [{ schema_json, ...named }] = V1 as [ReturnType<typeof tool>]
    return [{ ...named, schema_json: { ...schema_json, ...told } }, V1[1]]
  }
  const v1 = await register(search({ output_schema: { type: 'array' } }))
  await traces(v1, 3, { tool: 'search' })
  await traces(v1, 1, { tool: 'refund' })
  const compared = { baseline_manifest_id: v1 }
  const v2 = await register(search({ output_schema: { type: 'object' } }))
  t.match((await client.post('/regression-check', check(v2, compared))).body, {
    verdict: 'medium_risk',
    eval_verdict: 'expected_impact',
    affected_trace_count: 3,
    medium_risk_count: 3,
    compat_summary: { keep: 4 },
  })
  const v3 = await register(search({ output_schema_hash: 'b' }))
  t.match((await client.post('/regression-check', check(v3, compared))).body, {
    verdict: 'high_risk',
    eval_verdict: 'regression_likely',
    affected_trace_count: 3,
  })
})

t.test('an output contract that every recorded output breaks is high risk', async (t) => {
  const { client, register, traces } = await open(t)
  const output = (type: string) => ({
    component_type: 'output_contract',
    component_name: 'answer',
    schema_json: { schema: { type } },
  })
  const v1 = await register([...V1, output('string')])
  await traces(v1, 4, { tool: 'search' })
  const v2 = await register([...V1, tool('more', {}), output('object')])
  t.match((await client.post('/regression-check', check(v2))).body, {
    verdict: 'high_risk',
    impacts: [{ surface_name: 'answer', severity: 'medium', affected_trace_count: 4 }, {}],
    medium_risk_count: 4,
    compat_summary: { replay: 4 },
    human_summary: /^High risk by traffic: 4 of 4 traces \(100 %\)/,
  })
})

t.test('what rests on the baseline is counted', async (t) => {
  const { client, register, traces, orgId, projectId, agent } = await open(t)
  const v1 = await register([
    ...V1,
    { component_type: 'skill', component_name: 'polite', content: 'a' },
  ])
  const { body: known } = await client.get(`/manifests/${v1}`)
  await client.post('/manifests', {
    agent_name: 'boss',
    components: [
      {
        component_type: 'subagent',
        component_name: agent,
        content: { manifest_hash: known.manifest_hash },
      },
      { component_type: 'skill', component_name: 'polite', content: 'a' },
    ],
  })
  const [id] = await traces(v1, 2, { tool: 'search' })
  await storeDataset(orgId, projectId, id as string)
  const v2 = await register([
    V1[1],
    { component_type: 'skill', component_name: 'polite', content: 'b' },
  ])
  const { body } = await client.post('/regression-check', check(v2))
  t.match(body.downstream_impact, {
    datasets: {
      affected_dataset_version_count: 1,
      sample_dataset_names: ['training'],
      total_rows_invalidated: 1,
    },
    subagents: {
      broken_handoffs: [{ subagent_name: agent, surface_diff: { orchestrator: 'boss' } }],
    },
    skills: {
      affected_agent_count: 1,
      sample_agent_names: ['boss'],
      skills_changed: ['polite'],
    },
  })
})

t.test('scores of both versions are compared', async (t) => {
  const { client, register, traces } = await open(t)
  const v1 = await register(V1)
  await traces(v1, 40, { tool: 'refund', quality: (i) => 0.9 - 0.1 * (i % 2) })
  const v2 = await register(WITHOUT_SEARCH)
  await traces(v2, 40, { tool: 'refund', quality: (i) => 0.6 - 0.1 * (i % 2) })
  const { body } = await client.post('/regression-check', check(v2))
  t.match(body, { verdict: 'high_risk', eval_verdict: 'regression_likely' })
  t.match(body.human_summary, /^High risk by scores: .*reward dropped by 0\.3 /)
  const metric = body.metrics.find((each: { metric: string }) => each.metric === 'reward')
  t.match(metric, { design: 'unpaired', verdict: 'regressed', n_baseline: 40, n_candidate: 40 })
  t.ok(Math.abs(metric.delta + 0.3) < 1e-9 && metric.q_value < 1e-6)
  t.match(body.data_fingerprint, /^[0-9a-f]{64}$/)
  const again = await client.post('/regression-check', check(v2))
  t.same(again.body.metrics, body.metrics)
  t.equal(again.body.data_fingerprint, body.data_fingerprint)
})

t.test('where no drop is found the summary says which one would have been', async (t) => {
  const { client, register, traces } = await open(t)
  const v1 = await register(V1)
  const quality = (i: number) => 0.9 - 0.2 * (i % 2)
  await traces(v1, 40, { tool: 'refund', quality })
  const v2 = await register(WITHOUT_SEARCH)
  await traces(v2, 40, { tool: 'refund', quality })
  const { body } = await client.post('/regression-check', check(v2))
  t.match(body, { verdict: 'low_risk', eval_verdict: 'clean' })
  const metric = body.metrics.find((each: { metric: string }) => each.metric === 'reward')
  t.match(metric, { verdict: 'pass', mde: Number })
  t.match(body.human_summary, /No drop was confirmed; this traffic could have shown .* in reward/)
})

t.test('replays are compared with what they replay', async (t) => {
  const { client, register, traces } = await open(t)
  const v1 = await register(V1)
  const sources = await traces(v1, 25, { tool: 'refund', quality: (i) => 0.5 + 0.02 * i })
  const v2 = await register(WITHOUT_SEARCH)
  await traces(v2, 25, {
    tool: 'refund',
    quality: (i) => 0.42 + 0.02 * i + 0.001 * (i % 3),
    more: (i) => ({ source_type: 'replayed', parent_trace_id: sources[i] }),
  })
  const { body } = await client.post('/regression-check', check(v2))
  const metric = body.metrics.find((each: { metric: string }) => each.metric === 'reward')
  t.match(metric, { design: 'paired_replay', verdict: 'regressed', n_candidate: 25 })
})

t.test('what is replayed is of the baseline however old it is', async (t) => {
  const { client, register, traces } = await open(t)
  const started_at = new Date(Date.now() - 60 * DAY_MS).toISOString()
  const v1 = await register(V1)
  const sources = await traces(v1, 25, {
    tool: 'refund',
    quality: (i) => 0.5 + 0.02 * i,
    more: () => ({ started_at }),
  })
  const v2 = await register(WITHOUT_SEARCH)
  await traces(v2, 25, {
    tool: 'refund',
    quality: (i) => 0.42 + 0.02 * i + 0.001 * (i % 3),
    more: (i) => ({ source_type: 'replayed', parent_trace_id: sources[i] }),
  })
  const measured = async () => {
    const { body } = await client.post('/regression-check', check(v2))
    t.match(body.data_fingerprint, /^[0-9a-f]{64}$/)
    return body.metrics.find((each: { metric: string }) => each.metric === 'reward')
  }
  const paired = { design: 'paired_replay', verdict: 'regressed', n_baseline: 25, n_candidate: 25 }
  const alone = await measured()
  t.match(alone, paired)
  await traces(v1, 40, { tool: 'refund', quality: 0.1 })
  t.same(await measured(), alone, 'other traffic changes nothing')
})

t.test('an accepted candidate is what later checks compare with', async (t) => {
  const { client, register, propose } = await open(t)
  await register(V1)
  const v2 = await propose(WITHOUT_SEARCH)
  const { body } = await client.post('/regression-check', check(v2))
  const decided = await client.post(`/regression-check/${body.id}/decision`, {
    human_decision: 'accepted',
    note: 'meant',
  })
  t.match(decided.body, { human_decision: 'accepted', decision_note: 'meant', id: body.id })
  isComplete(t, decided.body)
  t.equal((await client.get(`/manifests/${v2}`)).body.status, 'active')
  const v3 = await propose(WITHOUT_REFUND)
  t.equal((await client.post('/regression-check', check(v3))).body.baseline_manifest_id, v2)
  const wrong = await client.post(`/regression-check/${body.id}/decision`, { human_decision: 'no' })
  t.equal(wrong.status, 422)
})

t.test('a candidate that is not there is 404, one of another agent 400', async (t) => {
  const { client, register, projectId } = await open(t)
  const v1 = await register(V1)
  const unknown = await client.post('/regression-check', check(projectId))
  t.equal(unknown.status, 404)
  const other = await client.post('/regression-check', { ...check(v1), agent_name: 'other' })
  t.equal(other.status, 400)
  const stranger = await service.makeOrganization()
  t.equal((await service.client(stranger.key).post('/regression-check', check(v1))).status, 404)
})

t.test('checks are listed, read and filtered with everything they tell', async (t) => {
  const { client, register } = await open(t)
  const v1 = await register(V1)
  const pr_context = { repo: 'a/b', pr_number: 7, branch: 'x', commit_sha: 'c' }
  const { body } = await client.post('/regression-check', check(v1, { pr_context }))
  t.same(body.pr_context, pr_context)
  const list = await client.get('/regression-check?agent_name=agent&verdict=first_run')
  t.same(list.body.regression_checks, [body])
  t.same((await client.get(`/regression-check/${body.id}`)).body, body)
  t.equal((await client.get('/regression-check?verdict=high_risk')).body.total, 0)
})

t.test('a check that is not done is answered complete, with nulls', async (t) => {
  // Nobody works there, so the check stays as it is.
  const { client, register } = await registeredAgent(await openService(t))
  const v1 = await register(V1)
  const { status, body, headers } = await client.post('/regression-check', check(v1), {
    prefer: 'respond-async',
  })
  t.equal(status, 202)
  t.match(headers['location'], `/api/v1/jobs/${body.job_id}`)
  t.match(body, { status: 'running', verdict: null, impacts: null })
  isComplete(t, body)
})

t.test('a check beyond the month’s quota is refused, a dry run is not', async (t) => {
  const { client, register, orgId } = await open(t, 'free')
  const v1 = await register(V1)
  await service.sql`
    insert into usage (org_id, metric, period, current, lim)
    values (${orgId}, 'regression_checks', date_trunc('month', now() at time zone 'utc'), 50, 50)`
  const refused = await client.post('/regression-check', check(v1))
  t.equal(refused.status, 402)
  t.equal(refused.headers['x-quota-exceeded'], 'regression_checks')
  t.equal((await client.get('/regression-check')).body.total, 0)
  t.equal((await client.post('/regression-check?dry_run=true', check(v1))).status, 200)
})

t.test('calls are rehearsed when the model changes, and sent to nobody', async (t) => {
  const { client, register, traces } = await open(t)
  const model = (name: string) => ({
    component_type: 'model',
    component_name: 'main',
    content: { model: name },
  })
  const v1 = await register([...V1, model('gpt-4o')])
  await traces(v1, 2, { tool: 'search' })
  const v2 = await register([...V1, model('claude-x')])
  const { body } = await client.post('/regression-check', check(v2))
  const path = `/regression-check/${body.id}/call-replay`
  const mock = await client.post(`${path}?mode=mock`)
  t.match(mock.body, {
    status: 'ok',
    baseline_model: 'gpt-4o',
    target_model: 'claude-x',
    per_trace: '2 of 2 calls can be asked again, in 2 traces.',
    traces: [{ replayed: 1, errors: 0 }, { replayed: 1 }],
    summary: { replayed: 2, equivalent: 2, changed: 0, errors: 0 },
  })
  t.match((await client.get(`/regression-check/${body.id}`)).body.call_replay, { status: 'ok' })
  t.match((await client.post(`${path}?mode=real`)).body, { status: 'unsupported' })
  const same = await client.post('/regression-check', check(v2, { baseline_manifest_id: v2 }))
  t.match((await client.post(`/regression-check/${same.body.id}/call-replay`)).body, {
    status: 'no_model_change',
  })
})

function open(_t: Test, plan?: 'free') {
  return registeredAgent(service, plan)
}

function check(candidate_manifest_id: string, more: object = {}) {
  return { agent_name: 'agent', candidate_manifest_id, ...more }
}

function tool(name: string, properties: object, required: string[] = []) {
  const input_schema = { type: 'object', properties, required, additionalProperties: false }
  return { component_type: 'tool', component_name: name, schema_json: { input_schema } }
}

function isComplete(t: Test, body: object) {
  t.same(
    MEMBERS.filter((member) => !(member in body)),
    [],
    'no member is missing',
  )
}

async function usageOf(client: RegisteredAgent['client']) {
  const { body } = await client.get('/usage')
  return body.metrics.find((each: { metric: string }) => each.metric === 'regression_checks')
}

/** A version of one row. */
async function storeDataset(orgId: string, projectId: string, traceId: string) {
  const version = await storeVersion(service.sql, { orgId, projectId }, 1)
  await service.sql`
    insert into dataset_version_rows (org_id, version_id, ordinal, trace_id, row_hash,
      score_fingerprint, split, shard, byte_offset, byte_length)
    values (${orgId}, ${version}, 0, ${traceId}, ${Buffer.alloc(32)}, '', 'train', 0, 0, 1)`
}
