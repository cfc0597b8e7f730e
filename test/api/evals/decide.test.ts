import t from 'tap'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { decideTracesHandler } from '../../../workers/evals/decide-traces.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'

t.test('decisions', async (t) => {
  const service = await openService(t)
  const client = service.client((await service.makeOrganization()).key)
  const said = (text: string) => ({ user_input_preview: text, final_output_preview: 'answer' })
  const make = (id: string, more: object) =>
    client.post('/traces', { id, agent_name: 'a', ...more })

  t.test('are made now, by what is known now', async (t) => {
    await make('good', { ...said('one'), scores: { reward: 1 } })
    t.equal((await client.get('/traces/good/decision')).status, 404, 'not judged yet')
    const { status, body } = await client.post('/traces/good/decision')
    t.equal(status, 200)
    t.match(body, {
      trace_id: 'good',
      verdict: 'keep',
      needs_review: false,
      quality_avg: 1,
      compat_avg: null,
      eval_verdict: 'pass',
      reasons: [{ code: 'score.good', rule: 12, subject: 'quality', message: String }],
      counterfactual: 'keep with review if reward < 0.62',
      counterfactual_change: {
        verdict: 'keep',
        needs_review: true,
        subject: 'reward',
        op: '<',
        value: 0.62,
        text: 'keep with review if reward < 0.62',
      },
      policy: { name: 'default', version: 0, agent_name: null },
      target_manifest_id: null,
    })
    t.same((await client.get('/traces/good/decision')).body, body, 'and read back alike')
    t.same((await client.post('/traces/good/decision')).body, body, 'and made again alike')
  })

  t.test('tell why', async (t) => {
    const codes = async (id: string) => {
      const { body } = await client.post(`/traces/${id}/decision`)
      return [
        body.verdict,
        body.needs_review,
        ...body.reasons.map(({ code }: { code: string }) => code),
      ]
    }
    await make('empty', {})
    t.same((await codes('empty')).slice(0, 3), ['drop', false, 'malformed.empty'])
    await make('orphan', {
      llm_calls: [{ rendered_input: [{ role: 'tool', tool_call_id: 'x', content: '' }] }],
    })
    t.same((await codes('orphan'))[2], 'malformed.orphan_tool_result')
    await make('private', { ...said('two'), metadata: { consent: false }, scores: { reward: 1 } })
    t.same(await codes('private'), ['drop', false, 'policy.consent', 'score.good'])
    await make('marked', {
      ...said('three'),
      metadata: { do_not_train: true },
      scores: { reward: 1 },
    })
    t.same((await codes('marked'))[2], 'policy.consent')
    await make('consented', { ...said('four'), metadata: { consent: true }, scores: { reward: 1 } })
    t.same(await codes('consented'), ['keep', false, 'score.good'])
    await make('bad', { ...said('five'), scores: { reward: 0 } })
    t.same(await codes('bad'), ['drop', false, 'score.bad'])
    await make('unscored', said('six'))
    t.same(await codes('unscored'), ['keep', true, 'score.good', 'score.builtin_only'])
    const call = { tool_name: 'x', status: 'error' }
    await make('stumbled', {
      ...said('seven'),
      llm_calls: [{ rendered_input: [{ role: 'user', content: 'seven' }], tool_calls: [call] }],
      scores: { reward: 1 },
    })
    t.same((await codes('stumbled')).slice(0, 3), ['repair', false, 'step.masked'])
    await make('running', { ...said('eight'), status: 'running' })
    t.equal((await client.post('/traces/running/decision')).status, 409)
    t.equal((await client.get('/traces/running')).body.verdict, null)
  })

  t.test('keep the oldest of copies, whichever was judged first', async (t) => {
    const copy = (day: number) => ({
      ...said('same'),
      started_at: `2026-01-0${day}T00:00:00Z`,
      scores: { r: 1 },
    })
    await make('second', copy(2))
    t.equal((await client.post('/traces/second/decision')).body.verdict, 'keep')
    await make('first', copy(1))
    await make('third', copy(3))
    const workers = await service.startWorkers([judgeTracesHandler])
    const reason = async (id: string) =>
      (await client.get(`/traces/${id}/decision`)).body.reasons?.[0]
    await until(async () => (await reason('second'))?.subject === 'first')
    await until(async () => (await reason('third'))?.subject === 'first')
    await until(async () => (await reason('first'))?.code === 'score.good')
    t.match(await reason('second'), { code: 'duplicate.exact', rule: 3 })
    await workers.stop()
  })

  t.test('are made on many traces at once', async (t) => {
    const { status, body } = await client.post('/traces/batch-decision', {
      trace_ids: ['good', 'bad', 'running', 'nowhere', 'good'],
    })
    t.equal(status, 200)
    t.same(
      body.decisions.map(({ trace_id }: { trace_id: string }) => trace_id),
      ['good', 'bad'],
    )
    t.match(body, { total: 2, verdict_counts: { keep: 1, drop: 1 } })
    t.match(body.errors, [
      { trace_id: 'running', code: 'running' },
      { trace_id: 'nowhere', code: 'not_found' },
    ])
    for (const wrong of [{}, { trace_ids: [] }, { trace_ids: ['a'], manifest_id: NO_MANIFEST }]) {
      t.equal((await client.post('/traces/batch-decision', wrong)).status, 422)
    }
    const many = Array.from({ length: 1001 }, (_, i) => `t${i}`)
    t.equal((await client.post('/traces/batch-decision', { trace_ids: many })).status, 422)
  })

  t.test('are made on all traces of a manifest as a job', async (t) => {
    const components = [{ type: 'tool', name: 'x' }]
    const registered = await client.post('/manifests', { agent_name: 'm', components })
    const { manifest_id } = registered.body
    const traces = Array.from({ length: 1203 }, (_, i) => ({
      agent_name: 'm',
      manifest_id,
      ...said(`manifest ${i}`),
      scores: { reward: i % 3 === 0 ? 0 : 1 },
    }))
    await client.post('/traces/batch', traces.slice(0, 1000))
    await client.post('/traces/batch', traces.slice(1000))
    const async = await client.post(
      '/traces/batch-decision',
      { manifest_id },
      { prefer: 'respond-async' },
    )
    t.equal(async.status, 202)
    const workers = await service.startWorkers([decideTracesHandler])
    const { body: job } = await client.get(`/jobs/${async.body.job_id}?wait=55`)
    t.match(job, {
      state: 'succeeded',
      result: { total: 1203, verdict_counts: { keep: 802, drop: 401 } },
    })
    const again = await client.post('/traces/batch-decision', { manifest_id })
    t.match(again, { status: 200, body: { total: 1203, verdict_counts: { keep: 802, drop: 401 } } })
    t.equal((await client.post('/traces/batch-decision', { manifest_id: NO_MANIFEST })).status, 404)
    const unused = await client.post('/manifests', {
      agent_name: 'unused',
      components: [{ type: 'tool', name: 'search' }],
    })
    const { manifest_id: of_none } = unused.body
    t.match(await client.post('/traces/batch-decision', { manifest_id: of_none }), {
      status: 200,
      body: { decisions: [], total: 0, verdict_counts: {} },
    })
    const stranger = service.client((await service.makeOrganization()).key)
    const foreign = await stranger.post('/traces/batch-decision', { manifest_id: of_none })
    t.equal(foreign.status, 404)
    await workers.stop()
  })
})

const NO_MANIFEST = '0198c0de-0000-7000-8000-0000000000ff'
