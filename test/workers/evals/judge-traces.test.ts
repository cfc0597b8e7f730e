import t from 'tap'
import { recomputeCells } from '../../support/score-cells.ts'
import { openService } from '../../support/service.ts'
import { readTrials } from '../../support/tau-bench.ts'
import type { Trial } from '../../support/tau-bench.ts'
import { until } from '../../support/until.ts'
import { markCellsDirty } from '../../../sql/evals/cell-marks.ts'
import { MAX_COPIES } from '../../../sql/evals/judgements.ts'
import { judgeTraces } from '../../../sql/transactions/judge-traces.ts'
import { aggregateScoresHandler } from '../../../workers/evals/aggregate-scores.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { countLockWaits } from '../../support/lock-waits.ts'

t.test('the judge', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const { queue } = service.context

  t.test('writes the same rows again, and no others, when it runs twice', async (t) => {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const traces = Array.from({ length: 30 }, (_, i) => ({
      id: `t${i}`,
      agent_name: 'a',
      user_input_preview: `question ${i % 20}`,
      final_output_preview: 'answer',
      started_at: '2026-01-01T00:00:00Z',
      scores: { reward: (i % 5) / 4 },
    }))
    await client.post('/traces/batch', traces)
    const ids = traces.map(({ id }) => id)
    const judge = (some: string[]) =>
      sql.begin((tx) => judgeTraces(tx, queue, org.orgId, org.projectId, some))
    t.match(await judge(ids), { changed: true, copies: [] })
    const first = await rows(org.orgId)
    t.match(await judge(ids), { changed: false, copies: [] })
    t.match(await judge([...ids].reverse().slice(3)), { changed: false })
    t.same(await rows(org.orgId), first)
    await recomputeCells(sql, org)
    const cells = await cellsOf(org.orgId)
    t.ok(cells.length > 0)
    await judge(ids)
    t.equal(await recomputeCells(sql, org), 0)
    t.same(await cellsOf(org.orgId), cells)
  })

  t.test('comes to the same verdicts in any order and any grouping', async (t) => {
    const traces = Array.from({ length: 24 }, (_, i) => ({
      id: `t${i}`,
      agent_name: 'a',
      user_input_preview: `question ${i % 6}`,
      final_output_preview: 'answer',
      started_at: new Date(Date.UTC(2026, 0, 1 + ((i * 7) % 24))).toISOString(),
      scores: { reward: (i % 4) / 3 },
    }))
    const outcomes = []
    for (const order of [
      traces,
      [...traces].reverse(),
      traces.map((_, i) => traces[(i * 5) % 24] as (typeof traces)[number]),
    ]) {
      const org = await service.makeOrganization()
      const client = service.client(org.key)
      const again = new Set<string>()
      for (const [i, trace] of order.entries()) {
        await client.post('/traces', trace)
        if (i % 3 === 0) again.add(trace.id)
        else await judgeAll([trace.id])
      }
      await judgeAll([...again])
      const verdicts = await sql`
        select trace_id, verdict, needs_review, quality_avg, reasons, counterfactual, duplicate_of
        from verdicts where org_id = ${org.orgId} order by trace_id`
      t.equal(verdicts.length, 24)
      outcomes.push([...verdicts])

      async function judgeAll(ids: string[]) {
        for (let rest = ids; rest.length > 0;) {
          const { copies } = await sql.begin((tx) =>
            judgeTraces(tx, queue, org.orgId, org.projectId, rest),
          )
          rest = copies
        }
      }
    }
    t.same(outcomes[1], outcomes[0])
    t.same(outcomes[2], outcomes[0])
    const dropped = outcomes[0]?.filter(({ duplicate_of }) => duplicate_of !== null)
    t.equal(dropped?.length, 18, 'of 24 traces with 6 conversations')
  })

  t.test('of very many copies has some judged, and then further ones', async (t) => {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const trace = { agent_name: 'a', user_input_preview: 'ping', final_output_preview: 'pong' }
    await client.post('/traces', { ...trace, id: 'oldest', started_at: '2026-01-01T00:00:00Z' })
    await sql`
      with ids as (
        insert into trace_ids select org_id, project_id, 'copy ' || n, period
        from trace_ids, generate_series(0, ${MAX_COPIES}) n where org_id = ${org.orgId}
      )
      insert into traces
      select (jsonb_populate_record(t, jsonb_build_object('trace_id', 'copy ' || n,
        'started_at', t.started_at + interval '1 day'))).*
      from traces t, generate_series(0, ${MAX_COPIES}) n where org_id = ${org.orgId}`
    const judge = (id: string) =>
      sql.begin((tx) => judgeTraces(tx, queue, org.orgId, org.projectId, [id]))
    const { judged, copies } = await judge('oldest')
    t.same([judged, copies.length], [['oldest'], MAX_COPIES])
    const later = await sql`
      select data -> 'payload' -> 'trace_ids' as ids from pgboss.job
      where name = 'evals.judge' and start_after > now() + interval '30 seconds'`
    t.match(later, [{ ids: ['oldest'] }], 'when those have been judged')
    t.match(await judge('copy 0'), { judged: ['copy 0'], copies: [] })
    const [copy] = await sql`
      select duplicate_of from verdicts where org_id = ${org.orgId} and trace_id = 'copy 0'`
    t.match(copy, { duplicate_of: 'oldest' })
  })

  t.test('skips what is gone and leaves running traces undecided', async (t) => {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    await client.post('/traces', { id: 'running', agent_name: 'a', status: 'running' })
    const result = await sql.begin((tx) =>
      judgeTraces(tx, queue, org.orgId, org.projectId, ['running', 'gone']),
    )
    t.same(result, { judged: [], unreadable: [], verdicts: [], copies: [], changed: false })
    t.same(await rows(org.orgId), { scores: [], verdicts: [] })
  })

  t.test('judges the traces beside one whose content is damaged', async (t) => {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const check = { name: 'says_end', type: 'contains', config: { text: 'end' } }
    t.match(await client.post('/evaluators', check), { status: 201 })
    const ids = ['before', 'damaged', 'then']
    await client.post(
      '/traces/batch',
      ids.map((id) => ({
        id,
        agent_name: 'a',
        llm_calls: [
          { rendered_input: [{ role: 'user', content: id }], output: { content: 'end' } },
        ],
      })),
    )
    await sql`
      update traces set content = '{}' where org_id = ${org.orgId} and trace_id = 'damaged'`
    const workers = await service.startWorkers([judgeTracesHandler])
    await until(async () => {
      const [left] = await sql`
        select count(*)::int as n from pgboss.job where name = 'evals.judge' and state < 'completed' and group_id = ${org.orgId}`
      return left?.['n'] === 0
    })
    await workers.stop()
    const { scores, verdicts } = await rows(org.orgId)
    t.same(
      verdicts.map(({ trace_id }) => trace_id as string),
      ['before', 'then'],
    )
    t.same(
      scores.filter(({ name }) => name === 'says_end').map(({ value }) => value as number),
      [1, 1],
    )
    const [line] = service.logged.filter((each) => each.includes('a content cannot be read'))
    t.match(JSON.parse(line ?? '{}'), { level: 50, org_id: org.orgId, trace_id: 'damaged' })

    const { body } = await client.post('/traces/batch-decision', { trace_ids: ids })
    t.match(body, { total: 2, errors: [{ trace_id: 'damaged', code: 'unreadable' }] })
    t.equal((await client.post('/traces/damaged/decision')).status, 500)
    t.equal((await client.post('/traces/damaged/evaluate')).status, 500)
  })

  t.test('of ten trials keeps the four that were rewarded and drops six', async (t) => {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const workers = await service.startWorkers([judgeTracesHandler, aggregateScoresHandler])
    const { body: stored } = await client.post('/traces/batch', readTrials().map(asTrace))
    t.match(stored, { count: 10, errors: [] })
    const stats = await until(async () => {
      const { body } = await client.get('/traces/eval/stats')
      return body.total_evaluated === 10 && body
    })
    t.same(stats.verdict_breakdown, { keep: 4, drop: 6 })
    const { body } = await client.get('/traces?limit=500')
    t.ok(body.traces.every(({ needs_review }: { needs_review: boolean }) => !needs_review))
    const aggregate = await until(async () => {
      const { body } = await client.get('/eval-scores/aggregate?name=reward&group_by=verdict')
      return !body.stale && body.groups.length === 2 && body
    })
    t.match(aggregate.groups, [
      { key: { verdict: 'drop' }, count: 6, mean: 0 },
      { key: { verdict: 'keep' }, count: 4, mean: 1 },
    ])
    await workers.stop()
  })

  async function rows(orgId: string) {
    const scores = await sql`
      select trace_id, name, score_id, value, label, updated_at from eval_scores
      where org_id = ${orgId} order by trace_id, name`
    const verdicts = await sql`
      select trace_id, verdict, needs_review, quality_avg, reasons, counterfactual, decided_at
      from verdicts where org_id = ${orgId} order by trace_id`
    return { scores: [...scores], verdicts: [...verdicts] }
  }

  async function cellsOf(orgId: string) {
    return [
      ...(await sql`
        select agent_name, day, name, source, verdict, n, passed, sum, histogram, computed_at
        from score_cells where org_id = ${orgId} order by name, source, verdict`),
    ]
  }
})

t.test('sums of scores', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const { queue } = service.context
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  await client.post('/traces', { id: 'x', agent_name: 'a', scores: { reward: 0.5 } })
  await sql.begin((tx) => judgeTraces(tx, queue, org.orgId, org.projectId, ['x']))

  t.test('wait for a writer that found their job in the queue', async (t) => {
    // The writer has marked its cells and enqueued nothing, because a job waits already.
    const writer = await sql.reserve()
    await writer`begin`
    await client.post('/traces/x/eval-scores', { scores: [{ name: 'early', score: 1 }] })
    await markCellsDirty(writer, org.orgId, org.projectId, ['x'])
    await writer`
      insert into eval_scores (org_id, project_id, period, trace_id, name, source, score_id, value,
        data_type, category, source_kind)
      values (${org.orgId}, ${org.projectId}, storing_period(), 'x', 'late', 'custom', gen_random_uuid(), 1, 'numeric',
        'quality', 'custom')`
    const workers = await service.startWorkers([aggregateScoresHandler])
    await until(() => countLockWaits(sql, { type: 'advisory' }))
    await writer`commit`
    writer.release()
    await until(async () => {
      const { body } = await client.get('/eval-scores/aggregate?group_by=name')
      const names = body.groups.map(({ key }: { key: { name: string } }) => key.name)
      return !body.stale && names.includes('late') && names.includes('early')
    })
    await workers.stop()
    t.pass()
  })

  t.test('come out the same from many jobs at once', async (t) => {
    const traces = Array.from({ length: 300 }, (_, i) => ({
      agent_name: `agent ${i % 150}`,
      started_at: '2026-01-01T00:00:00Z',
      user_input_preview: `q${i}`,
      scores: { reward: 1 },
    }))
    await client.post('/traces/batch', traces)
    const { body } = await client.get('/traces?limit=500&until=2026-01-02T00:00:00Z')
    const ids = body.traces.map(({ id }: { id: string }) => id)
    await sql.begin((tx) => judgeTraces(tx, queue, org.orgId, org.projectId, ids))
    await Promise.all(Array.from({ length: 4 }, () => recomputeCells(sql, org)))
    await recomputeCells(sql, org)
    const [row] = await sql<{ n: number }[]>`
      select sum(n)::int as n from score_cells where org_id = ${org.orgId} and name = 'reward'
        and agent_name like 'agent %'`
    t.equal(row?.n, 300)
  })
})

function asTrace({ task_id, trial, reward, traj }: Trial) {
  return {
    trace_id: `desk-${task_id}-${trial}`,
    agent_name: 'desk',
    task_id: String(task_id),
    llm_calls: [{ rendered_input: traj }],
    scores: { reward },
  }
}
