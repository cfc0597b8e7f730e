import { randomUUID } from 'node:crypto'
import t from 'tap'
import { decideTracesHandler } from '../../../workers/evals/decide-traces.ts'
import { detectViolationsHandler } from '../../../workers/evals/detect-violations.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { tool } from '../../support/manifests.ts'
import { registeredAgent } from '../../support/registered-agent.ts'
import type { StoredTraffic } from '../../support/registered-agent.ts'
import { insertReplayBatch } from '../../support/replay-tasks.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('submissions of replays', async (t) => {
  const service = await openService(t)
  const { sql } = service

  /** An agent with a batch of tasks towards its second version, which is a draft, and their leases. */
  async function claimed(n = 1, traffic: Partial<StoredTraffic> = {}) {
    const agent = await registeredAgent(service)
    const source = await agent.register([tool('search', { q: { type: 'string' } })])
    const target = await agent.propose([tool('search', { query: { type: 'string' } })])
    const traces = await agent.traces(source, n, { tool: 'search', ...traffic })
    const batch = await insertReplayBatch(sql, agent, traces, { target })
    const { body } = await agent.client.post('/replay/tasks/claim', { worker_id: 'w', max: 50 })
    const leases = body.tasks as { id: string; lease_token: string; trace_id: string }[]
    const submit = (body: object, i = 0, path = leases[i]?.id) =>
      agent.client.post(`/replay/tasks/${path}/submit`, body)
    const held = (body: object, i = 0) =>
      submit({ lease_token: leases[i]?.lease_token, ...body }, i)
    const [original = ''] = traces
    const [lease] = leases
    if (!lease) throw new Error('nothing was claimed')
    return { ...agent, source, target, traces, original, batch, leases, lease, submit, held }
  }
  const usage = async (orgId: string) => {
    const [row] = await sql<{ n: number }[]>`
      select coalesce(sum(current), 0)::int as n from usage
      where org_id = ${orgId} and metric = 'traces_ingested'`
    return row?.n
  }
  const count = async (orgId: string) => {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from traces where org_id = ${orgId}`
    return row?.n
  }
  const runOut = (orgId: string) =>
    sql`update replay_tasks set leased_until = now() - interval '1 s'
      where org_id = ${orgId} and status = 'leased'`
  const done = { status: 'completed' }

  t.test('a run is stored as a replay, judged, compared and counted', async (t) => {
    const { client, held, original, target, batch, lease, orgId } = await claimed(1, {
      quality: 0.5,
      more: () => ({ task_id: 'group', ended_at: new Date().toISOString() }),
    })
    const { status, body } = await held({
      ...done,
      trace: runOf({ scores: { reward: 0.9 }, manifest_id: null }),
    })
    t.equal(status, 200)
    t.match(body, {
      task_id: lease.id,
      status: 'completed',
      eval_verdict: 'pass',
      comparison: {
        outcome: 'win',
        basis: 'common_scores',
        score_delta: 0.4,
        final_output_changed: true,
        tool_path_changed: false,
        cost_delta_usd: null,
      },
    })
    t.type(body.comparison.latency_delta_ms, 'number')
    t.notOk('warnings' in body)
    const replay = await client.get(`/traces/${body.replayed_trace_id}`)
    t.match(replay.body, {
      source_type: 'replayed',
      manifest_id: target,
      parent_trace_id: original,
      task_id: 'group',
      agent_name: 'agent',
      metadata: {
        own: 1,
        original_trace_id: original,
        replay: { batch_id: batch.id, task_id: lease.id, attempt: 1 },
      },
      eval_verdict: 'pass',
    })
    t.equal(replay.body.eval_score, body.eval_score, 'judged already')
    t.equal(await usage(orgId), 1)
    const shown = await client.get(`/replay/tasks/${lease.id}`)
    t.match(shown.body, { status: 'completed', comparison: body.comparison })
    t.match((await client.get(`/replay/batches/${batch.id}`)).body, {
      status: 'completed',
      wins: 1,
      mean_score_delta: 0.4,
    })
    const { body: versions } = await client.get('/manifests?agent_name=agent')
    t.match(versions.manifests, [{ manifest_id: target, status: 'draft' }, {}], 'no production')
  })

  t.test('a run keeps the manifest that it names, and the id', async (t) => {
    const { client, held, source } = await claimed()
    const trace = runOf({ trace_id: 'own/id', manifest_id: source })
    const { body } = await held({ ...done, trace })
    t.equal(body.replayed_trace_id, 'own/id')
    t.match((await client.get('/traces/own%2Fid')).body, { manifest_id: source })
  })

  t.test('the score given is one of the replay, and its verdict is taken over', async (t) => {
    const { client, held, lease } = await claimed(2, { quality: 0.9 })
    const { body } = await held({
      ...done,
      trace: runOf({}),
      eval_score: 0.2,
      eval_verdict: 'keep',
    })
    t.match(body, {
      eval_score: 0.2,
      eval_verdict: 'pass',
      comparison: { outcome: 'loss', basis: 'given_score', score_delta: -0.7 },
    })
    const scores = (await client.get(`/traces/${body.replayed_trace_id}`)).body.eval_scores
    t.match(
      scores.find(({ name }: { name: string }) => name === 'replay_score'),
      { value: 0.2, source: 'custom', identifier: lease.id, passed: true },
    )
    t.match((await held({ ...done, eval_score: 0.9 }, 1)).body, {
      eval_score: 0.9,
      eval_verdict: 'pass',
      replayed_trace_id: null,
      comparison: { outcome: 'tie', basis: 'given_score', final_output_changed: null },
    })
  })

  t.test('a score that comes later leaves the comparison as it is', async (t) => {
    const { client, held, submit, original } = await claimed(1, { quality: 0.5 })
    const result = { ...done, trace: runOf({ scores: { reward: 0.9 } }) }
    const { body } = await held(result)
    await client.post(`/traces/${original}/eval-scores`, { scores: [{ name: 'reward', score: 1 }] })
    t.same((await submit(result)).body, body)
  })

  t.test('a stored run becomes the replay, unless it cannot be one', async (t) => {
    const { client, held, original, lease, batch, target, orgId } = await claimed(2)
    await client.post('/traces', runOf({ trace_id: 'again', agent_name: 'agent' }))
    await client.post('/traces', { trace_id: 'other', agent_name: 'b' })
    await client.post('/traces', { trace_id: 'runs', agent_name: 'agent', status: 'running' })
    const charged = await usage(orgId)
    for (const [id, status] of [
      [original, 400],
      ['other', 400],
      ['runs', 400],
      ['unknown', 404],
    ] as const) {
      t.equal((await held({ ...done, replayed_trace_id: id })).status, status, id)
    }
    const { status, body } = await held({ ...done, replayed_trace_id: 'again', eval_score: 1 })
    t.match([status, body], [200, { replayed_trace_id: 'again', eval_score: 1 }])
    const marks = { batch_id: batch.id, task_id: lease.id, attempt: 1 }
    const replay = {
      source_type: 'replayed',
      parent_trace_id: original,
      manifest_id: target,
      metadata: { original_trace_id: original, replay: marks, own: 1 },
    }
    t.match((await client.get('/traces/again')).body, replay)
    t.equal(await usage(orgId), charged, 'it was counted before')
    const second = await held({ ...done, replayed_trace_id: 'again' }, 1)
    t.equal(second.status, 400, 'it is the replay of another trace')
    t.match((await client.get('/traces/again')).body, replay)
    const [row] = await sql`
      select revision from traces where org_id = ${orgId} and trace_id = 'again'`
    t.equal(row?.['revision'], 1, 'marked once')
  })

  t.test('a run that was stored while it went on is finished by its result', async (t) => {
    const { client, held, original, lease, batch, target, orgId } = await claimed(1, {
      quality: 0.5,
    })
    const streamed = { trace_id: 'streamed', agent_name: 'agent', metadata: { own: 1 } }
    await client.post('/traces', { ...streamed, status: 'running' })
    const charged = await usage(orgId)
    const { status, body } = await held({
      ...done,
      trace: runOf({ trace_id: 'streamed', manifest_id: null, scores: { reward: 0.9 } }),
    })
    t.match(
      [status, body],
      [200, { replayed_trace_id: 'streamed', comparison: { outcome: 'win' } }],
    )
    t.match((await client.get('/traces/streamed')).body, {
      status: 'success',
      source_type: 'replayed',
      parent_trace_id: original,
      manifest_id: target,
      llm_call_count: 1,
      metadata: {
        original_trace_id: original,
        replay: { batch_id: batch.id, task_id: lease.id, attempt: 1 },
        own: 1,
      },
      eval_score: body.eval_score,
      revision: 1,
    })
    t.equal(await usage(orgId), charged, 'it was counted before')
  })

  t.test('the same result again answers as before, whoever sends it', async (t) => {
    const { client, held, submit, orgId } = await claimed()
    const result = { ...done, trace: runOf({}), eval_score: 0.5, note: { a: 1, b: 2 } }
    const first = await held(result)
    const stored = await count(orgId)
    t.same((await held(result)).body, first.body)
    const { note: _, ...rest } = result
    const reordered = { note: { b: 2, a: 1 }, ...rest }
    t.same((await submit({ ...reordered, lease_token: randomUUID() })).body, first.body)
    t.same((await submit(reordered)).body, first.body)
    t.equal(await count(orgId), stored)
    t.equal(await usage(orgId), 1)
    const another = await held({ ...result, eval_score: 0.6 })
    t.equal(another.status, 409)
    t.match(another.body, {
      code: 'task_ended',
      detail: { message: 'The task has ended: completed', resource: first.body },
    })
    t.equal((await client.get('/replay/tasks/none')).status, 404)
  })

  t.test('a lease decides who may submit', async (t) => {
    const { client, held, submit, orgId, lease } = await claimed()
    const result = { ...done, eval_score: 1 }
    t.match(await submit(result), { status: 409, body: { code: 'leased' } })
    for (const lease_token of [randomUUID(), 'x']) {
      const lost = await submit({ ...result, lease_token })
      t.match(lost, { status: 409, body: { code: 'lease_lost' } })
    }
    await runOut(orgId)
    await client.post('/replay/tasks/claim', { worker_id: 'next' })
    t.match(await held(result), { status: 409, body: { code: 'lease_lost' } })
    await runOut(orgId)
    t.match(await submit(result, 0, lease.id), { status: 200, body: { status: 'completed' } })
  })

  t.test('a lease that ran out counts while nobody took the task', async (t) => {
    const { held, orgId } = await claimed()
    await runOut(orgId)
    t.equal((await held({ ...done, eval_score: 1 })).status, 200)
  })

  t.test('a failed task waits again while attempts are left, and is lost in the end', async (t) => {
    const { client, held, submit, lease, batch } = await claimed(1)
    let token = lease.lease_token
    for (const attempt of [2, 3]) {
      const failed = { status: 'failed', error: 'out of luck', retry: true, lease_token: token }
      const given = await submit(failed)
      t.match(given, { status: 200, body: { status: 'pending', comparison: null } })
      t.same((await submit(failed)).body, given.body, 'the same again')
      t.match((await submit({ ...failed, error: 'x' })).body, { code: 'lease_lost' })
      const shown = (await client.get(`/replay/tasks/${lease.id}`)).body
      t.match(shown, { status: 'pending', reason: 'out of luck', attempt: attempt - 1 })
      const { body } = await client.post('/replay/tasks/claim', { worker_id: 'w' })
      t.equal(body.tasks[0].attempt, attempt)
      t.same((await submit(failed)).body, given.body, 'the same again while another has it')
      const held = (await client.get(`/replay/tasks/${lease.id}`)).body
      t.match(held, { status: 'leased', reason: null, attempt })
      token = body.tasks[0].lease_token
    }
    const last = { status: 'failed', error: `x\0${'y'.repeat(5000)}`, retry: true }
    t.match(await submit({ ...last, lease_token: token }), {
      status: 200,
      body: { status: 'failed', comparison: { outcome: 'loss', basis: null, score_delta: null } },
    })
    t.equal((await submit(last)).status, 200, 'the same again')
    t.match(await held({ status: 'failed' }), { status: 409, body: { code: 'task_ended' } })
    const { reason } = (await client.get(`/replay/tasks/${lease.id}`)).body
    t.equal(reason.length, 4000)
    t.match((await client.get(`/replay/batches/${batch.id}`)).body, { losses: 1, wins: 0 })
  })

  t.test('a run that ended in an error is a loss, whatever it scored', async (t) => {
    const { held } = await claimed(2)
    t.match((await held({ ...done, trace: runOf({ status: 'error' }), eval_score: 1 })).body, {
      status: 'completed',
      comparison: { outcome: 'loss', score_delta: null },
    })
    t.match((await held({ status: 'skipped', error: 'no sandbox' }, 1)).body, {
      status: 'skipped',
      comparison: null,
    })
  })

  t.test('a canceled task takes no result', async (t) => {
    const { client, held, batch, orgId } = await claimed()
    await client.post(`/replay/batches/${batch.id}/cancel`)
    const stored = await count(orgId)
    t.match(await held({ ...done, trace: runOf({}) }), {
      status: 409,
      body: { code: 'task_ended', detail: { resource: { status: 'canceled', comparison: null } } },
    })
    t.equal(await count(orgId), stored)
  })

  t.test('a submission says what is wrong with it', async (t) => {
    const { held, client, original } = await claimed()
    await client.post('/traces', runOf({ trace_id: 'ended', agent_name: 'agent' }))
    for (const [body, field] of [
      [{}, 'body.status'],
      [{ status: 'done' }, 'body.status'],
      [{ ...done, eval_score: 1.1 }, 'body.eval_score'],
      [{ ...done, eval_score: 'x' }, 'body.eval_score'],
      [{ ...done, trace: [] }, 'body.trace'],
      [
        { ...done, trace: { llm_calls: [{ latency_ms: 'x' }] } },
        'body.trace.llm_calls.0.latency_ms',
      ],
      [{ ...done, trace: { status: 'running' } }, 'body.trace.status'],
      [{ status: 'failed', retry: 'yes' }, 'body.retry'],
      [{ status: 'failed', error: 1 }, 'body.error'],
    ] as const) {
      const { status, body: answer } = await held(body)
      t.match([status, answer.details?.errors], [422, [{ field }]], JSON.stringify(body))
    }
    t.match(await client.post('/replay/tasks/none/submit', { ...done, eval_score: 1 }), {
      status: 404,
      body: { detail: 'Replay task not found' },
    })
    for (const body of [
      done,
      { ...done, eval_verdict: 'pass' },
      { ...done, trace: runOf({}), replayed_trace_id: 'x' },
      { ...done, trace: runOf({ agent_name: 'other' }) },
      { ...done, trace: runOf({ trace_id: original }) },
      { status: 'failed', trace: runOf({}) },
      { status: 'failed', retry: true, replayed_trace_id: 'x' },
      { status: 'failed', eval_score: 0 },
      { status: 'skipped', eval_verdict: 'fail' },
    ]) {
      t.match(await held(body), { status: 400, body: { code: 'bad_request' } })
    }
    const taken = await held({ ...done, trace: runOf({ trace_id: 'ended' }) })
    t.match(taken, { status: 409, body: { code: 'trace_exists' } })
  })

  t.test('what of a run cannot be stored as it was sent is told', async (t) => {
    const { held, client } = await claimed()
    const unknown = randomUUID()
    const trace = runOf({ manifest_id: unknown, scores: { a: 7 } })
    const { status, body } = await held({ ...done, trace })
    t.equal(status, 200)
    t.match(body.warnings, [{ code: 'unknown_manifest' }, { code: 'invalid_score' }])
    t.match((await client.get(`/traces/${body.replayed_trace_id}`)).body, {
      manifest_id: null,
      metadata: { unknown_manifest_id: unknown },
    })
  })

  t.test('beyond the quota nothing is written and the lease goes on', async (t) => {
    const { held, client, orgId, lease, original } = await claimed()
    await sql`update organizations set plan = 'free' where id = ${orgId}`
    const limit = service.context.quotas.traces_ingested.free
    await sql`
      insert into usage (org_id, metric, period, current, lim)
      values (${orgId}, 'traces_ingested', date_trunc('month', now() at time zone 'UTC'), ${limit},
        ${limit})`
    const before = await count(orgId)
    const refused = await held({ ...done, trace: runOf({ trace_id: 'costly' }), eval_score: 1 })
    t.match(refused, {
      status: 402,
      headers: { 'x-quota-exceeded': 'traces_ingested' },
      body: { code: 'quota_exceeded' },
    })
    t.equal(await count(orgId), before)
    const [scores] = await sql`
      select count(*)::int as n from eval_scores where org_id = ${orgId} and trace_id = 'costly'`
    t.equal(scores?.['n'], 0)
    t.match((await client.get(`/replay/tasks/${lease.id}`)).body, {
      status: 'leased',
      trace_id: original,
    })
    t.equal((await held({ ...done, eval_score: 1 })).status, 200, 'a score alone costs nothing')
  })

  t.test('a trace that is gone leaves the replay without a comparison', async (t) => {
    const { held, client, original } = await claimed()
    await client.delete(`/traces/${original}`)
    const { status, body } = await held({ ...done, trace: runOf({}), eval_score: 0.8 })
    t.match([status, body], [200, { status: 'completed', eval_score: 0.8, comparison: null }])
    t.match((await client.get(`/traces/${body.replayed_trace_id}`)).body, {
      parent_trace_id: original,
    })
  })

  t.test('20 submissions of a batch at once are all stored, each once', async (t) => {
    const { client, orgId, held, batch } = await claimed(20)
    const results = await Promise.all(
      Array.from({ length: 20 }, async (_, i) =>
        held({ ...done, trace: runOf({}), eval_score: 1 }, i),
      ),
    )
    t.same(
      results.map(({ status }) => status),
      Array(20).fill(200),
    )
    t.equal(await count(orgId), 40)
    t.equal(await usage(orgId), 20)
    t.match((await client.get(`/replay/batches/${batch.id}`)).body, {
      status: 'completed',
      counts: { completed: 20 },
    })
  })

  t.test('of 20 results for one task at once one is stored, and the same ones agree', async (t) => {
    const { orgId, held } = await claimed()
    const trace = runOf({})
    const results = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => held({ ...done, trace, eval_score: i % 2 })),
    )
    const stored = results.filter(({ status }) => status === 200)
    const refused = results.filter(
      ({ status, body }) => status === 409 && body.code === 'task_ended',
    )
    t.same([stored.length, refused.length], [10, 10])
    t.equal(new Set(stored.map(({ body }) => JSON.stringify(body))).size, 1)
    t.equal(await count(orgId), 2)
    t.equal(await usage(orgId), 1)
  })

  t.test('a large run is taken, and one beyond the limit of a body is not', async (t) => {
    const { held } = await claimed()
    const messages = (n: number) =>
      Array.from({ length: n }, (_, i) => ({ role: 'user', content: `${i} ${'x '.repeat(5000)}` }))
    const large = { ...done, trace: runOf({ llm_calls: [{ rendered_input: messages(600) }] }) }
    t.equal((await held(large)).status, 413)
    const fits = { ...done, trace: runOf({ llm_calls: [{ rendered_input: messages(400) }] }) }
    t.equal((await held(fits)).status, 200)
  })

  t.test('another organization finds no task', async (t) => {
    const { lease, orgId } = await claimed()
    const stranger = service.client((await service.makeOrganization()).key)
    const path = `/replay/tasks/${lease.id}/submit`
    const body = { ...done, lease_token: lease.lease_token, eval_score: 1 }
    t.equal((await stranger.post(path, body)).status, 404)
    const reader = await makeTestKey(sql, orgId, { scope: 'global', permissions: 'read' })
    t.equal((await service.client(reader.raw).post(path, body)).status, 403)
  })

  t.test('a run is judged again once it is stored, and searched for violations', async (t) => {
    const handlers = [decideTracesHandler, judgeTracesHandler, detectViolationsHandler]
    const { stop } = await service.startWorkers(handlers)
    t.teardown(stop)
    const waiting = (n: number) => until(async () => (await countLockWaits(sql)) === n)
    /** Lets submissions of new runs end, which judge these and then count them, when `meanwhile` is done. */
    const submitAtOnce = async (
      orgId: string,
      submissions: readonly (() => Promise<unknown>)[],
      meanwhile = async () => {},
    ) => {
      const { ended } = await sql.begin(async (tx) => {
        await tx`
          insert into usage (org_id, metric, period, current, lim)
          values (${orgId}, 'traces_ingested', date_trunc('month', now() at time zone 'UTC'), 0, 100)`
        const ended = Promise.all(submissions.map((submit) => submit()))
        await waiting(submissions.length)
        await meanwhile()
        return { ended }
      })
      await ended
      await until(async () => {
        const left = await sql`
          select from pgboss.job
          where data ->> 'org_id' = ${orgId} and state in ('created', 'retry', 'active')
            and name in ('evals.decide', 'evals.judge', 'violations.detect')`
        return left.length === 0
      })
    }

    t.test('by a policy that was set meanwhile', async (t) => {
      const { client, held, source, orgId } = await claimed()
      const trace = runOf({ trace_id: 'a', manifest_id: source, scores: { reward: 0.9 } })
      await submitAtOnce(orgId, [() => held({ ...done, trace })], async () => {
        await client.put('/decision-policy', { thresholds: { keep_at: 0.95 } })
        // Its job is past the id, and waits for what else was judged in the project.
        await waiting(2)
      })
      const { body } = await client.get('/traces/a/decision')
      t.match(body, { policy: { version: 1 } })
      const [examination] = await sql`
        select is_searched from trace_examinations where org_id = ${orgId} and trace_id = 'a'`
      t.same(examination, { is_searched: true })
    })

    t.test('as a copy of one that came at the same time', async (t) => {
      const { held, source, orgId } = await claimed(2)
      const result = { ...done, trace: runOf({ manifest_id: source }) }
      await submitAtOnce(orgId, [() => held(result), () => held(result, 1)])
      const copies = await sql`
        select from verdicts where org_id = ${orgId} and duplicate_of is not null`
      t.equal(copies.length, 1)
    })
  })
})

function runOf(more: object) {
  return {
    started_at: new Date(Date.now() - 5000).toISOString(),
    ended_at: new Date().toISOString(),
    metadata: { own: 1 },
    llm_calls: [
      {
        model_name: 'gpt-4o',
        rendered_input: [{ role: 'user', content: 'hello' }],
        output: { content: 'done with the other tool' },
        tool_calls: [{ tool_name: 'search', args: { query: 'x' } }],
      },
    ],
    ...more,
  }
}
