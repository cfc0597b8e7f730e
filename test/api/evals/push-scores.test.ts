import t from 'tap'
import { openService } from '../../support/service.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'

t.test('scores', async (t) => {
  const service = await openService(t)
  const client = service.client((await service.makeOrganization()).key)
  await service.startWorkers([judgeTracesHandler])
  const make = (id: string, more = {}) =>
    client.post('/traces', {
      id,
      agent_name: 'a',
      user_input_preview: id,
      final_output_preview: 'hello',
      ...more,
    })
  const push = (id: string, body: unknown) => client.post(`/traces/${id}/eval-scores`, body)
  const breakdown = async (id: string) => {
    const { body } = await client.get(`/traces/${id}/eval-breakdown`)
    const groups = body.source_groups.map(({ source, source_avg, weight }: SourceGroup) => [
      source,
      source_avg,
      weight,
    ])
    return { body, groups }
  }
  const settled = async (jobId: string) => (await client.get(`/jobs/${jobId}?wait=20`)).body.state

  t.test('are stored for a trace, which is judged by the job that is named', async (t) => {
    await make('one')
    const { status, body } = await push('one', {
      source: 'deepeval',
      metadata: { source_label: 'nightly', run_id: 'r1' },
      scores: [
        { name: 'faithful', score: 0.9, reason: 'quotes the source' },
        { name: 'polite', score: true },
        { name: 'tone', label: 'warm' },
        { name: 'fits', score: 0.8, category: 'compatibility' },
        { name: 'safe', score: true, category: 'quality:safety' },
      ],
    })
    t.match(
      [status, body],
      [200, { status: 'ok', trace_id: 'one', stored: 5, verdict_job_id: String }],
    )
    t.equal(await settled(body.verdict_job_id), 'succeeded')
    const read = (await client.get('/traces/one/eval-scores')).body
    t.match(read.compatibility_scores, [{ name: 'fits', value: 0.8, category_detail: null }])
    t.equal(read.compat_avg, 0.8)
    const pushed = read.quality_scores.filter(
      ({ source }: { source: string }) => source === 'deepeval',
    )
    t.match(pushed, [
      { name: 'faithful', value: 0.9, source_kind: 'third_party', source_label: 'nightly' },
      { name: 'polite', value: 1, data_type: 'boolean' },
      { name: 'safe', value: 1, category: 'quality', category_detail: 'quality:safety' },
      { name: 'tone', value: null, label: 'warm', data_type: 'categorical' },
    ])
    t.equal(pushed[0].metadata.run_id, 'r1')
    t.equal(read.quality_avg, 0.970833, '(2.9 / 3 * 0.7 + 1 * 0.1) / 0.8')
    t.equal(read.eval_verdict, 'pass')
    t.match((await client.get('/traces/one')).body, { eval_score: 0.970833, verdict: 'keep' })
  })

  t.test('take the place of earlier ones of the same identity, and of no others', async (t) => {
    await make('again')
    const scored = (score: number, more = {}) =>
      push('again', { source: 'custom', scores: [{ name: 'reward', score, ...more }] })
    await scored(0.2)
    const first = (await client.get('/traces/again/eval-scores')).body.quality_scores
    const { body } = await scored(0.9)
    t.equal(await settled(body.verdict_job_id), 'succeeded')
    const customs = async () =>
      (await client.get('/traces/again/eval-scores')).body.quality_scores.filter(
        ({ source }: { source: string }) => source === 'custom',
      )
    const second = await customs()
    t.match(second, [{ name: 'reward', value: 0.9 }])
    t.equal(second.length, 1)
    const [was] = first.filter(({ name }: { name: string }) => name === 'reward')
    t.equal(second[0].score_id, was.score_id)
    t.not(second[0].updated_at, was.updated_at)
    await scored(0.5, { span_id: 's1' })
    await scored(0.4, { identifier: 'ann' })
    await push('again', { source: 'llm_judge', scores: [{ name: 'reward', score: 1 }] })
    t.equal((await customs()).length, 3)
    const { body: decision } = await client.post('/traces/again/decision')
    t.equal(decision.quality_avg, 0.866667, '((0.9 + 0.5 + 0.4) / 3 * 0.4 + 0.7 + 0.1) / 1.2')
  })

  t.test('that are wrong are refused together, with every field', async (t) => {
    await make('strict')
    const { status, body } = await push('strict', {
      source: 5,
      metadata: [],
      scores: [
        { name: 'a', score: 1.5 },
        { score: 1 },
        'x',
        { name: 'b', score: 'high' },
        { name: 'c' },
      ],
    })
    t.equal(status, 422)
    t.same(body.details.errors.map(({ field }: { field: string }) => field).sort(), [
      'body.metadata',
      'body.scores.0.score',
      'body.scores.1.name',
      'body.scores.2',
      'body.scores.3.score',
      'body.scores.4.score',
      'body.source',
    ])
    for (const wrong of [
      {},
      { scores: [] },
      { scores: {} },
      [],
      { scores: Array.from({ length: 1001 }, () => ({})) },
    ]) {
      t.equal((await push('strict', wrong)).status, 422)
    }
    t.same(
      (await client.get('/traces/strict')).body.eval_scores.filter(
        ({ source }: { source: string }) => source !== 'built_in',
      ),
      [],
    )
  })

  t.test('of many traces are stored where they can be', async (t) => {
    await make('bulk-1')
    await make('bulk-2')
    await make('bulk-2', { project: 'twin-1' })
    await make('bulk-3', { project: 'twin-1' })
    await make('bulk-3', { project: 'twin-2' })
    const { status, body } = await client.post('/eval-scores', {
      source: 'langsmith',
      scores: [
        { trace_id: 'bulk-1', name: 'a', score: 1, category: 'rag' },
        { trace_id: 'bulk-2', name: 'a', score: 0.5, source: 'human' },
        { trace_id: 'bulk-3', name: 'a', score: 1 },
        { trace_id: 'nowhere', name: 'a', score: 1 },
        { trace_id: 'bulk-1', name: 'b', score: 2 },
        { name: 'c', score: 1 },
        'x',
      ],
    })
    t.equal(status, 200)
    t.equal(body.stored, 2)
    t.same(
      body.errors.map(({ index, trace_id, code }: Record<string, unknown>) => [
        index,
        trace_id,
        code,
      ]),
      [
        [2, 'bulk-3', 'ambiguous'],
        [3, 'nowhere', 'not_found'],
        [4, 'bulk-1', 'validation_error'],
        [5, null, 'validation_error'],
        [6, null, 'validation_error'],
      ],
    )
    t.equal(await settled(body.verdict_job_id), 'succeeded')
    t.match((await client.get('/traces/bulk-2')).body.eval_scores.at(-1), {
      source: 'human',
      value: 0.5,
    })
    const named = await client.post('/eval-scores?project=twin-2', {
      scores: [{ trace_id: 'bulk-3', name: 'a', score: 1 }],
    })
    t.match(named.body, { stored: 1, errors: [] })
    const none = await client.post('/eval-scores', {
      scores: [{ trace_id: 'nowhere', name: 'a', score: 1 }],
    })
    t.match(none.body, { stored: 0, verdict_job_id: null, verdict_job_ids: [] })
    const tooMany = Array.from({ length: 5001 }, () => ({
      trace_id: 'bulk-1',
      name: 'a',
      score: 1,
    }))
    t.equal((await client.post('/eval-scores', { scores: tooMany })).status, 422)
  })

  t.test('are explained by their sources, and the explanation adds up', async (t) => {
    await make('explained')
    await push('explained', {
      scores: [
        { name: 'a', score: 0.9, source: 'llm_judge', metadata: { family: 'gpt' } },
        { name: 'b', score: 0.5, source: 'llm_judge', metadata: { family: 'gpt' } },
        { name: 'c', score: 1, source: 'llm_judge' },
        { name: 'd', score: 0.2, source: 'deepeval' },
        { name: 'e', score: 0.6, source: 'human' },
      ],
    })
    await client.post('/traces/explained/decision')
    const { body, groups } = await breakdown('explained')
    t.same(groups, [
      ['built_in', 1, 0],
      ['human', 0.6, 1],
      ['deepeval', 0.2, 0],
      ['llm_judge', 0.85, 0],
    ])
    t.equal(body.quality_avg, 0.6, 'a person decides alone')
    t.match(body.decision_reasons[0], { code: 'score.conflict', rule: 11 })
  })

  t.test('of several sources add up by their weights, all shown to six digits', async (t) => {
    await make('weighed')
    const pushed = await push('weighed', {
      scores: [
        { name: 'a', score: 1, source: 'llm_judge' },
        { name: 'b', score: 0, source: 'llm_judge' },
        { name: 'c', score: 0, source: 'llm_judge' },
        { name: 'd', score: 0.2, source: 'deepeval' },
        { name: 'e', score: 0.6, source: 'external' },
      ],
    })
    t.equal(await settled(pushed.body.verdict_job_id), 'succeeded')
    const { body, groups } = await breakdown('weighed')
    t.same(groups, [
      ['built_in', 1, 0.1],
      ['deepeval', 0.2, 0.233333],
      ['external', 0.6, 0.233333],
      ['llm_judge', 0.333333, 0.233333],
    ])
    t.equal(body.quality_avg, 0.455556, '((0.2 + 0.6 + 1 / 3) / 3 * 0.7 + 1 * 0.1) / 0.8')
  })

  t.test('pushed at once all arrive, and the last judgement sees them all', async (t) => {
    await make('crowd')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        push('crowd', { scores: [{ name: `s${i}`, score: 1, source: 'human' }] }),
      ),
    )
    const states = await Promise.all(answers.map(({ body }) => settled(body.verdict_job_id)))
    t.ok(states.every((state) => state === 'succeeded'))
    const { body } = await client.get('/traces/crowd')
    t.equal(
      body.eval_scores.filter(({ source }: { source: string }) => source === 'human').length,
      20,
    )
    t.equal(body.eval_score, 1)
  })
})

interface SourceGroup {
  source: string
  source_avg: number
  weight: number
}
