import t from 'tap'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('annotations', async (t) => {
  const service = await openService(t)
  await service.startWorkers([judgeTracesHandler])
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const ofKey = async (key: Partial<Parameters<typeof makeTestKey>[2]>) => {
    const scope = { scope: 'global', permissions: 'write' } as const
    const { id, raw } = await makeTestKey(service.sql, org.orgId, { ...scope, ...key })
    return { id, ...service.client(raw) }
  }

  let count = 0
  /** A finished trace of its own conversation. */
  async function store(more: object = {}) {
    const { body } = await client.post('/traces', {
      agent_name: 'a',
      user_input_preview: `question ${++count}`,
      final_output_preview: 'answer',
      ...more,
    })
    return `/traces/${body.trace_id}`
  }

  /** Says something of a trace and waits until it was judged by that. */
  async function annotate(path: string, body: object, by: Pick<typeof client, 'post'> = client) {
    const answer = await by.post(`${path}/annotations`, body)
    t.equal(answer.status, 201, JSON.stringify(answer.body))
    const { verdict_job_id } = answer.body
    if (verdict_job_id) {
      const { body: job } = await client.get(`/jobs/${verdict_job_id}?wait=30`)
      t.equal(job.state, 'succeeded')
    }
    return answer.body
  }

  async function humanScores(path: string) {
    const { body } = await client.get(`${path}/eval-scores`)
    return body.quality_scores.filter(({ source }: { source: string }) => source === 'human')
  }

  t.test('are answered as they were stored, and read back with the trace', async (t) => {
    const path = await store()
    const said = {
      label: 'wrong tone',
      rating: 2,
      correctness: 'mostly',
      error_categories: ['tone', 'length'],
      corrected_output: 'A kind\nanswer 😀',
      tags: ['batch-7'],
      notes: 'See the guide',
      score: 0.3,
      flagged_for_review: true,
    }
    const { verdict_job_id, trace_id, ...stored } = await annotate(path, said)
    t.match(stored, { ...said, id: String, created_by: org.keyId, created_at: String })
    t.equal(`/traces/${trace_id}`, path)
    t.type(verdict_job_id, 'string')
    const later = await annotate(path, { tags: ['only'], anything: 'else' })
    t.match(later, { label: null, rating: null, error_categories: [], verdict_job_id: null })
    const { body } = await client.get(`${path}?fields=annotations`)
    t.same(Object.keys(body).sort(), ['annotations', 'id', 'project', 'project_id', 'trace_id'])
    t.same(body.annotations[1], stored)
    t.equal(body.annotations[0].id, later.id, 'newest first')
    t.equal((await client.get(path)).body.annotations.length, 2)
    t.equal((await annotate(path, { correctness: true })).correctness, 'correct')
    t.equal((await annotate(path, { correctness: false })).correctness, 'incorrect')
  })

  t.test('with a rating are a human score, by which the trace is judged anew', async (t) => {
    const path = await store({ scores: { reward: 1 } })
    for (const [rating, value, verdict, needs_review] of [
      [1, 0, 'drop', false],
      [2, 0.25, 'drop', false],
      [3, 0.5, 'keep', true],
      [4, 0.75, 'keep', false],
      [5, 1, 'keep', false],
    ] as const) {
      await annotate(path, { rating, label: `${rating} stars`, notes: 'why' })
      t.match(await humanScores(path), [
        {
          name: 'annotation',
          value,
          source_kind: 'human',
          label: `${rating} stars`,
          reason: 'why',
          identifier: org.keyId,
        },
      ])
      t.match((await client.get(`${path}/decision`)).body, { verdict, needs_review }, `${rating}`)
    }
    await annotate(path, { rating: 5, score: 0.1 })
    t.match(await humanScores(path), [{ value: 0.1 }], 'a score goes before the rating')
    await annotate(path, { label: 'no score' })
    t.match(await humanScores(path), [{ value: 0.1 }])
  })

  t.test('of several keys are scores beside each other', async (t) => {
    const path = await store()
    const other = await ofKey({})
    await annotate(path, { score: 1 })
    await annotate(path, { score: 0 }, other)
    const scores = await humanScores(path)
    const by = scores.map((each: { identifier: string; value: number }) => [
      each.identifier,
      each.value,
    ])
    t.same(Object.fromEntries(by), { [org.keyId]: 1, [other.id]: 0 })
    t.match((await client.get(`${path}/eval-breakdown`)).body, {
      source_groups: [{}, { source: 'human', source_avg: 0.5, weight: 1 }],
    })
  })

  t.test(
    'that flag a trace for review mark what it is usable for, until that is taken back',
    async (t) => {
      const path = await store({ scores: { reward: 1 } })
      const decision = async () => (await client.get(`${path}/decision`)).body
      await annotate(path, { rating: 5 })
      t.match(await decision(), { verdict: 'keep', needs_review: false })
      await annotate(path, { flagged_for_review: true })
      t.match(await decision(), { verdict: 'keep', needs_review: true })
      await annotate(path, { notes: 'looked at, in doubt' })
      await client.post(`${path}/decision`)
      t.match(await decision(), { verdict: 'keep', needs_review: true }, 'nothing was said of it')
      await annotate(path, { flagged_for_review: false })
      t.match(await decision(), { verdict: 'keep', needs_review: false })
      await annotate(path, { flagged_for_review: true, rating: 1 })
      t.match(await decision(), { verdict: 'drop', needs_review: false })
    },
  )

  t.test('that say that no review is needed settle what scores leave in doubt', async (t) => {
    const path = await store({ scores: { judge: 0.5 } })
    const decision = async () => (await client.get(`${path}/decision`)).body
    await client.post(`${path}/decision`)
    t.match(await decision(), { verdict: 'keep', needs_review: true })
    await annotate(path, { flagged_for_review: false })
    t.match(await decision(), { verdict: 'keep', needs_review: false })
    await annotate(path, { rating: 3 })
    t.match(await decision(), { verdict: 'keep', needs_review: false })
  })

  t.test('that give a correction or withdraw it have the trace judged anew', async (t) => {
    const path = await store({ scores: { reward: 0 } })
    const verdict = async () => (await client.get(`${path}/decision`)).body.verdict
    await annotate(path, { rating: 1 })
    t.equal(await verdict(), 'drop')
    for (const [said, after] of [
      [{ corrected_output: 'better' }, 'repair'],
      [{ corrected_output: 'best', rating: 1 }, 'repair'],
      [{ correction_withdrawn: true, rating: 1 }, 'drop'],
      [{ corrected_output: 'better', correction_withdrawn: null }, 'repair'],
      [{ correction_withdrawn: true, corrected_output: '' }, 'drop'],
    ] as const) {
      const { verdict_job_id, correction_withdrawn } = await annotate(path, said)
      t.type(verdict_job_id, 'string')
      t.equal(correction_withdrawn, 'correction_withdrawn' in said && !!said.correction_withdrawn)
      t.equal(await verdict(), after, JSON.stringify(said))
    }
    await annotate(path, { corrected_output: 'better' })
    const silent = { notes: 'x', corrected_output: null, correction_withdrawn: false }
    t.match(await annotate(path, silent), { correction_withdrawn: false, verdict_job_id: null })
    await client.post(`${path}/decision`)
    t.equal(await verdict(), 'repair', 'it said nothing of the correction')
    const both = { corrected_output: 'x', correction_withdrawn: true }
    const { status, body } = await client.post(`${path}/annotations`, both)
    t.match({ status, body }, { status: 422, body: { code: 'validation_error' } })
  })

  t.test('are refused when they say nothing, or what cannot be', async (t) => {
    const path = await store()
    const fieldsOf = async (body: unknown) => {
      const answer = await client.post(`${path}/annotations`, body)
      t.equal(answer.status, 422, JSON.stringify(body).slice(0, 99))
      return answer.body.details.errors.map(({ field }: { field: string }) => field)
    }
    const silent = [
      {},
      { label: '' },
      { rating: null, tags: [], notes: '' },
      { unknown: 1 },
      { corrected_output: '', correction_withdrawn: false },
      { correction_withdrawn: null },
      { correction_withdrawn: '' },
    ]
    for (const body of silent) t.same(await fieldsOf(body), ['body'])
    const wrong: [string, unknown[]][] = [
      ['rating', [0, 6, 2.5, 'good']],
      ['score', [-0.1, 1.1, 'x']],
      ['correctness', [7, {}, 'x'.repeat(65)]],
      ['flagged_for_review', ['maybe']],
      ['correction_withdrawn', ['maybe']],
      ['corrected_output', [' \n ', '\u200b', '\u00ad\u3000']],
      ['error_categories', ['tone', [''], Array.from({ length: 51 }, () => 'x')]],
      ['corrected_output', [{ content: 'x' }, 'x'.repeat(100_001)]],
    ]
    for (const [name, values] of wrong) {
      for (const value of values) {
        const [field] = await fieldsOf({ label: 'x', [name]: value })
        t.match(field, `body.${name}`)
      }
    }
    for (const unfit of ['a\0b', 'half of \ud83d']) {
      for (const name of ['label', 'correctness', 'corrected_output', 'notes']) {
        t.same(await fieldsOf({ [name]: unfit }), [`body.${name}`])
      }
      t.same(await fieldsOf({ tags: [unfit] }), ['body.tags.0'])
      t.same(await fieldsOf({ error_categories: [unfit] }), ['body.error_categories.0'])
    }
    t.same((await client.get(path)).body.annotations, [])
    t.same(await humanScores(path), [])
  })

  t.test('are of traces that the key may see', async (t) => {
    const path = await store()
    const stranger = service.client((await service.makeOrganization()).key)
    const beside = await client.post('/projects', { name: 'beside', workspace_id: org.workspaceId })
    const elsewhere = await ofKey({
      scope: 'project',
      workspace_id: org.workspaceId,
      project_id: beside.body.id,
    })
    for (const { post } of [stranger, elsewhere]) {
      t.equal((await post(`${path}/annotations`, { rating: 1 })).status, 404)
    }
    t.equal((await client.post('/traces/nowhere/annotations', { rating: 1 })).status, 404)
    const reader = await ofKey({ permissions: 'read' })
    t.equal((await reader.post(`${path}/annotations`, { rating: 1 })).status, 403)
    t.same((await reader.get(path)).body.annotations, [])
  })

  t.test('are made once under an idempotency key', async (t) => {
    const path = await store()
    const send = () =>
      client.post(`${path}/annotations`, { label: 'once' }, { 'idempotency-key': 'k' })
    const [first, again] = [await send(), await send()]
    t.same([first.status, again.status], [201, 201])
    t.same(again.body, first.body)
    t.equal((await client.get(path)).body.annotations.length, 1)
  })

  t.test('are a hundred of a trace at most', async (t) => {
    const path = await store()
    for (let n = 0; n < 100; n++) await annotate(path, { label: `${n}` })
    const { status, body } = await client.post(`${path}/annotations`, { label: 'more' })
    t.match({ status, body }, { status: 400, body: { detail: /at most 100/ } })
    const shown = (await client.get(path)).body.annotations
    t.same([shown.length, shown[0].label, shown[99].label], [100, '99', '0'])
  })

  t.test('go with their trace', async (t) => {
    const path = await store({ trace_id: 'gone' })
    await annotate(path, { rating: 1, corrected_output: 'x', flagged_for_review: true })
    t.equal((await client.delete(path)).status, 204)
    const [left] = await service.sql`
      select count(*)::int as n from annotations where org_id = ${org.orgId} and trace_id = 'gone'`
    t.equal(left?.['n'], 0)
    await store({ trace_id: 'gone' })
    t.same((await client.get(path)).body.annotations, [])
    t.same(await humanScores(path), [])
  })
})
