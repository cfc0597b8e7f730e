import t from 'tap'
import { makeAgent, openAgentService, toolComponent } from '../../support/agents.ts'
import { openService } from '../../support/service.ts'
import { listPendingTraces } from '../../../sql/regression/pending-traces.ts'
import { checkRegressionHandler } from '../../../workers/regression/check-regression.ts'

const ROUNDS = process.env['FAULTS'] === 'long' ? 100 : 30
const SEARCH = toolComponent('search', { q: { type: 'string' } }, ['q'])
const REFUND = toolComponent('refund')

t.test('checks while the workers judge', async (t) => {
  const service = await openAgentService(t)
  await service.startWorkers([checkRegressionHandler])

  t.test(`a check right after an ingest sees every trace, ${ROUNDS} times`, async (t) => {
    const agent = await makeAgent(service)
    const { baseline, check } = await register(agent)
    for (let n = 1; n <= ROUNDS; n++) {
      await agent.store([['search', { q: 'x' }]], { ...baseline, scores: { reward: 1 } })
      const { body } = await check()
      if (
        body.total_traces_analyzed !== n ||
        body.eval_breakdown.passing_affected !== n ||
        body.verdict !== 'high_risk'
      ) {
        t.match(body, { total_traces_analyzed: n, eval_breakdown: { passing_affected: n } })
        t.equal(body.verdict, 'high_risk')
        return
      }
    }
    t.pass('each saw all')
  })
})

t.test('checks while nobody else judges', async (t) => {
  const service = await openService(t)
  await service.startWorkers([checkRegressionHandler])

  t.test('a check right after scores were pushed counts them', async (t) => {
    const agent = await makeAgent(service)
    const { baseline, check } = await register(agent)
    const ids = []
    for (let n = 0; n < 4; n++) {
      ids.push(await agent.store([['search', { q: 'x' }]], { ...baseline, scores: { reward: 1 } }))
    }
    t.match((await check()).body.eval_breakdown, { passing_affected: 4, failing_affected: 0 })
    const scores = ids.slice(0, 3).map((trace_id) => ({ trace_id, name: 'reward', score: 0 }))
    await agent.client.post('/eval-scores', { scores })
    t.match((await check()).body.eval_breakdown, { passing_affected: 1, failing_affected: 3 })
  })

  t.test('a trace from a clock that is ahead counts', async (t) => {
    const agent = await makeAgent(service)
    const { baseline, check } = await register(agent)
    const started_at = new Date(Date.now() + 4 * 60_000).toISOString()
    await agent.store([['search', { q: 'x' }]], { ...baseline, started_at })
    t.equal((await check()).body.total_traces_analyzed, 1)
  })

  t.test('a further check judges only what is new', async (t) => {
    const agent = await makeAgent(service)
    const { sql } = service
    const { orgId, projectId } = agent.org
    const { baseline, before, after, check } = await register(agent)
    for (let n = 0; n < 3; n++) await agent.store([['search', { q: 'x' }]], baseline)
    await agent.store([], { ...baseline, status: 'running' })
    const key = { orgId, projectId, agentName: 'support' }
    const window = [new Date(0), new Date(Date.now() + 60_000)] as const
    const compared = {
      before: { id: before.manifest_id },
      after: { id: after.manifest_id },
      window,
    }
    const pending = (after: string, limit: number) =>
      listPendingTraces(sql, key, compared, { after, limit })
    const all = await pending('', 10)
    t.equal(all.length, 3)
    t.same(await pending('', 2), all.slice(0, 2))
    t.same(await pending(all[1] ?? '', 2), all.slice(2))
    await check()
    t.same(await pending('', 10), [])
    const scores = [{ trace_id: all[0], name: 'reward', score: 0 }]
    await agent.client.post('/eval-scores', { scores })
    t.same(await pending('', 10), all.slice(0, 1))
  })

  t.test('the metrics of a check have the scores of both versions', async (t) => {
    const agent = await makeAgent(service)
    const { baseline, candidate, check } = await register(agent)
    for (const [named, reward] of [
      [baseline, 1],
      [candidate, 0],
    ] as const) {
      for (let n = 0; n < 3; n++)
        await agent.store([['refund', {}]], { ...named, scores: { reward } })
    }
    const { metrics } = (await check()).body
    const found = new Map(metrics.map((each: { metric: string }) => [each.metric, each]))
    const both = { n_baseline: 3, n_candidate: 3 }
    t.match(found.get('reward'), { ...both, mean_baseline: 1, mean_candidate: 0 })
    t.match(found.get('quality_avg'), both)
    t.match(found.get('completion'), both)
  })

  t.test(
    'a check leaves traces of other manifests and other agents to their workers',
    async (t) => {
      const agent = await makeAgent(service)
      const { baseline, check } = await register(agent)
      await agent.store([['search', { q: 'x' }]], baseline)
      const others = [await agent.store([]), await agent.store([], { agent_name: 'other' })]
      await check()
      const judged =
        await service.sql`select trace_id from verdicts where org_id = ${agent.org.orgId}`
      t.equal(judged.length, 1)
      t.notOk(others.includes(judged[0]?.['trace_id']))
    },
  )
})

type Agent = Awaited<ReturnType<typeof makeAgent>>

/** Registers two versions, of which the second has no `search`. */
async function register({ client, register }: Agent) {
  const before = await register([SEARCH, REFUND])
  const after = await register([REFUND])
  return {
    before,
    after,
    baseline: { manifest_hash: before.manifest_hash },
    candidate: { manifest_id: after.manifest_id },
    check: () =>
      client.post('/regression-check', {
        agent_name: 'support',
        baseline_manifest_id: before.manifest_id,
        candidate_manifest_id: after.manifest_id,
      }),
  }
}
