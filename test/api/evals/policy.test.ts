import t from 'tap'
import { decideTracesHandler } from '../../../workers/evals/decide-traces.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('the decision policy', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)

  t.test('is the default, version 0, until one is set', async (t) => {
    t.match(await client.get('/decision-policy'), {
      status: 200,
      body: {
        agent_name: null,
        version: 0,
        preset: 'default',
        thresholds: { keep_at: 0.7, drop_at: 0.4 },
        source_weights: { human: 1, verifier: 1, third_party: 0.7, custom: 0.4, builtin: 0.1 },
        on_doubt: 'review',
        content_hash: /^[0-9a-f]{64}$/,
        created_at: null,
      },
    })
    t.match((await client.get('/decision-policy/versions')).body, { versions: [], total: 0 })
  })

  t.test('gets a version with each change, and none without one', async (t) => {
    const first = await client.put('/decision-policy', { preset: 'strict' })
    t.match(first, {
      status: 200,
      body: { version: 1, preset: 'strict', thresholds: { keep_at: 0.8 }, job_id: String },
    })
    const same = await client.put('/decision-policy', { preset: 'strict' })
    t.same(same.body, { ...first.body, job_id: null })
    const second = await client.put('/decision-policy', { thresholds: { keep_at: 0.9 } })
    t.match(second.body, {
      version: 2,
      preset: 'default',
      thresholds: { keep_at: 0.9, drop_at: 0.4 },
    })
    const own = await client.put('/decision-policy', {
      agent_name: 'a',
      preset: 'permissive',
      source_weights: { custom: 1 },
    })
    t.match(own.body, { version: 1, agent_name: 'a', source_weights: { custom: 1, human: 1 } })
    const { body } = await client.get('/decision-policy/versions')
    t.same(
      body.versions.map(({ version }: { version: number }) => version),
      [2, 1],
    )
    const { job_id: _, ...held } = second.body
    t.same(body.versions[0], held)
    t.match((await client.get('/decision-policy/versions?agent_name=a')).body, { total: 1 })
    t.match(own.body, (await client.get('/decision-policy?agent_name=a')).body)
    t.same((await client.get('/decision-policy?agent_name=b')).body, held, "the project's")
  })

  t.test('gets versions without a gap when many set it at once', async (t) => {
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        client.put('/decision-policy', {
          agent_name: 'busy',
          thresholds: { keep_at: 0.5 + i / 100 },
        }),
      ),
    )
    const { body } = await client.get('/decision-policy/versions?agent_name=busy')
    t.same(
      body.versions.map(({ version }: { version: number }) => version),
      Array.from({ length: 12 }, (_, i) => 12 - i),
    )
  })

  t.test('decides from then on, and its version is named', async (t) => {
    const trace = { agent_name: 'judged', user_input_preview: 'x', final_output_preview: 'y' }
    await client.post('/traces', { ...trace, id: 'p', scores: { reward: 0.7 } })
    const before = (await client.post('/traces/p/decision')).body
    await client.put('/decision-policy', { agent_name: 'judged', thresholds: { keep_at: 0.71 } })
    const after = (await client.post('/traces/p/decision')).body
    t.match(before, {
      verdict: 'keep',
      needs_review: true,
      policy: { version: 2, agent_name: null },
    })
    t.match(after, {
      verdict: 'keep',
      needs_review: false,
      policy: { version: 1, agent_name: 'judged' },
    })
    await client.put('/decision-policy', {
      agent_name: 'judged',
      thresholds: { drop_at: 0.99, keep_at: 1 },
    })
    t.match(
      (await client.get('/traces/p/decision')).body,
      { policy: { version: 1 } },
      'not made again before the job has come to it',
    )
    t.match((await client.post('/traces/p/decision')).body, {
      verdict: 'drop',
      policy: { version: 2 },
    })
  })

  t.test('is what stored traces are decided by anew, page by page', async (t) => {
    const put = async (body: object) => {
      const { status, body: set } = await client.put('/decision-policy?project=stored', body)
      t.equal(status, 200)
      return set.job_id as string
    }
    const ended = async (id: string) => (await client.get(`/jobs/${id}?wait=55`)).body
    const decisions = () => service.sql`
      select policy_agent_name as agent, policy_version as version, verdict, count(*)::int as n
      from verdicts v join projects p on p.org_id = v.org_id and p.id = v.project_id
      where v.org_id = ${org.orgId} and p.name = 'stored' group by 1, 2, 3 order by 1, 2, 3`

    const trace = (agent_name: string, i: number) => ({
      agent_name,
      trace_id: `stored-${String(i).padStart(3, '0')}`,
      user_input_preview: `${i}`,
      final_output_preview: 'done',
      scores: { reward: 0.75 },
    })
    const traces = Array.from({ length: 602 }, (_, i) => trace(i < 600 ? 'many' : 'own', i))
    await client.post('/traces/batch?project=stored', traces)
    await put({ agent_name: 'own', preset: 'permissive' })
    const judging = await service.startWorkers([judgeTracesHandler])
    await until(async () => {
      const { body } = await client.get('/traces/eval/stats?project=stored')
      return body.total_evaluated === 602
    })
    await judging.stop()
    t.match(await decisions(), [
      { agent: '', version: 0, verdict: 'keep', n: 600 },
      { agent: 'own', version: 1, verdict: 'keep', n: 2 },
    ])

    const [first, second] = [
      await put({ thresholds: { keep_at: 0.8 } }),
      await put({ thresholds: { keep_at: 1, drop_at: 0.99 } }),
    ]
    await service.startWorkers([decideTracesHandler])
    t.match(await ended(first), { state: 'succeeded', result: { total: 0, superseded: true } })
    t.match(await ended(second), {
      state: 'succeeded',
      progress: { done: 600, total: 600 },
      result: { total: 600, verdict_counts: { drop: 600 } },
    })
    t.match(await decisions(), [
      { agent: '', version: 2, verdict: 'drop', n: 600 },
      { agent: 'own', version: 1, verdict: 'keep', n: 2 },
    ])

    const [third, fourth] = await service.sql.begin(async (tx) => {
      await tx`
        select from traces where org_id = ${org.orgId} and trace_id = 'stored-550' for update`
      const third = await put({ preset: 'strict' })
      await until(async () => (await client.get(`/jobs/${third}`)).body.progress.done === 500)
      return [third, await put({ preset: 'permissive' })]
    })
    t.match(await ended(third as string), { result: { superseded: true } })
    t.match(await ended(fourth as string), { result: { total: 600 } })
    t.match(await decisions(), [
      { agent: '', version: 4, verdict: 'keep', n: 600 },
      { agent: 'own', version: 1, verdict: 'keep', n: 2 },
    ])
  })

  t.test('is previewed: what it would decide is told, and nothing is stored', async (t) => {
    const trace = (trace_id: string, agent_name: string, reward: number) => ({
      trace_id,
      agent_name,
      user_input_preview: trace_id,
      final_output_preview: 'done',
      scores: { reward },
    })
    const ids = ['good', 'fair', 'poor', 'theirs']
    const given = [
      trace('good', 'a', 0.95),
      trace('fair', 'a', 0.6),
      trace('poor', 'a', 0.2),
      trace('theirs', 'own', 0.6),
    ]
    await client.put('/decision-policy?project=seen', { agent_name: 'own', preset: 'permissive' })
    await client.post('/traces/batch?project=seen', given)
    const decide = async () =>
      (await client.post('/traces/batch-decision?project=seen', { trace_ids: ids })).body
        .decisions as { trace_id: string; verdict: string; needs_review: boolean }[]
    const before = await decide()
    const stored = () => service.sql`
      select v.* from verdicts v join projects p on p.org_id = v.org_id and p.id = v.project_id
      where v.org_id = ${org.orgId} and p.name = 'seen' order by v.trace_id`
    const rows = await stored()
    const path = '/decision-policy/preview?project=seen&keep_at=0.9&drop_at=0.85'
    const { status, body } = await client.get(path)
    t.equal(status, 200)
    t.same(await stored(), rows)
    await client.put('/decision-policy?project=seen', {
      thresholds: { keep_at: 0.9, drop_at: 0.85 },
    })
    const after = await decide()
    const verdicts = (decided: typeof before, id: string) =>
      decided.find(({ trace_id }) => trace_id === id)
    const own = ids.filter((id) => id !== 'theirs')
    const changes = own
      .map((trace_id) => ({
        trace_id,
        from: verdicts(before, trace_id)?.verdict,
        to: verdicts(after, trace_id)?.verdict,
      }))
      .filter(({ from, to }) => from !== to)
    t.same(changes, [{ trace_id: 'fair', from: 'keep', to: 'drop' }])
    const inReview = (decided: typeof before) =>
      own.filter((id) => verdicts(decided, id)?.needs_review).length
    t.same(body, {
      total: 3,
      looked_at: 3,
      changed: 1,
      by_change: [{ from: 'keep', to: 'drop', count: 1 }],
      needs_review: { before: inReview(before), after: inReview(after) },
      examples: changes,
    })
    t.match((await client.get(path)).body, { changed: 0, by_change: [], examples: [] })
    const theirs = await client.get(
      '/decision-policy/preview?project=seen&agent_name=own&keep_at=1&drop_at=1',
    )
    t.match(theirs.body, {
      total: 1,
      examples: [{ trace_id: 'theirs', from: 'keep', to: 'drop' }],
    })
    t.match((await client.get('/decision-policy/preview?project=seen&builtin=2')).status, 422)
    t.match((await client.get('/decision-policy/preview?drop_at=0.9')).status, 400)
  })

  t.test('is refused when it is none', async (t) => {
    const fieldsOf = async (body: object) => {
      const answer = await client.put('/decision-policy', body)
      t.equal(answer.status, 422)
      return answer.body.details.errors.map(({ field }: { field: string }) => field)
    }
    t.ok((await fieldsOf({ preset: 'lax' })).includes('body.preset'))
    t.same(await fieldsOf({ thresholds: { keep_at: 1.1, drop_at: -1 } }), [
      'body.thresholds.keep_at',
      'body.thresholds.drop_at',
    ])
    t.same(await fieldsOf({ source_weights: { human: 2, custom: 'x' } }), [
      'body.source_weights.human',
      'body.source_weights.custom',
    ])
    t.equal((await client.put('/decision-policy', { thresholds: { keep_at: 0.3 } })).status, 400)
  })

  t.test('belongs to its project', async (t) => {
    await client.put('/decision-policy?project=other', { preset: 'permissive' })
    t.match((await client.get('/decision-policy?project=other')).body, {
      version: 1,
      preset: 'permissive',
    })
    t.match((await client.get('/decision-policy')).body, { version: 2 })
    const made = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'write',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    const scoped = service.client(made.raw)
    t.match((await scoped.get('/decision-policy')).body, { version: 2 })
    t.equal((await scoped.get('/decision-policy?project=other')).status, 403)
    t.equal((await scoped.put('/decision-policy', { project: 'other' })).status, 403)
    const stranger = service.client((await service.makeOrganization()).key)
    t.match((await stranger.get('/decision-policy')).body, { version: 0 })
  })
})
