import { randomUUIDv7 } from 'node:crypto'
import Joi from 'joi'
import t from 'tap'
import { checkRegression } from '../../../jobs/check-regression.ts'
import type { Checkpoint } from '../../../jobs/job.ts'
import { openWorkerContext } from '../../../ops/context.ts'
import type { Progress } from '../../../sql/jobs/jobs.ts'
import { checkRegressionHandler } from '../../../workers/regression/check-regression.ts'
import { registeredAgent } from '../../support/registered-agent.ts'
import { openService } from '../../support/service.ts'

const service = await openService(t)
const worker = await openWorkerContext(service.config, service.url, { slots: 1, supervise: false })
t.teardown(() => worker.close())

const tool = (name: string) => ({ component_type: 'tool', component_name: name })

t.test('a check that is stopped goes on where it was', async (t) => {
  const agent = await registeredAgent(service)
  const v1 = await agent.register([tool('search'), tool('refund')])
  const [first] = await agent.traces(v1, 700, { tool: 'search' })
  const scores = [{ name: 'ok', score: 1 }]
  await agent.client.post(`/traces/${first}/eval-scores`, { source: 'human', scores })
  await agent.traces(v1, 800, { tool: 'refund', more: (i) => ({ started_at: before(i) }) })
  const v2 = await agent.register([tool('refund')])
  const payload = {
    project_id: agent.projectId,
    agent_name: agent.agent,
    candidate_manifest_id: v2,
    baseline_manifest_id: v1,
    trace_window_days: 30,
    until: new Date(Date.now() + 60_000),
  }
  let kept: Checkpoint<typeof checkRegression> | undefined
  const pages: number[] = []
  const judged: string[] = []
  const { checkpoint } = checkRegression
  if (!checkpoint) throw new Error('The job declares no checkpoint')
  const run = (abort: AbortController) => ({
    ...worker.context,
    orgId: agent.orgId,
    jobId: randomUUIDv7(),
    attempt: 1,
    checkpointed: kept,
    signal: abort.signal,
    progress: ({ done, note }: Progress) => void judged.push(`${note} ${done}`),
    async checkpoint(_tx: unknown, { done, total }: Progress, cursor?: object) {
      t.equal(total, 1500)
      pages.push(done)
      kept = Joi.attempt(JSON.parse(JSON.stringify(cursor)), checkpoint)
      if (pages.length === 1) abort.abort('draining')
    },
  })
  await t.rejects(checkRegressionHandler.work(payload, run(new AbortController())))
  const result = await checkRegressionHandler.work(payload, run(new AbortController()))
  t.same(pages, [1000, 1500])
  t.same(judged, ['judging 1'], 'what waited is judged once, and told')
  t.match(result, {
    findings: {
      total_traces_analyzed: 1500,
      affected_trace_count: 700,
      compat_summary: { keep: 800, replay: 700 },
      impacts: [{ affected_trace_count: 700, eval_breakdown: { passing_affected: 700 } }],
    },
  })
})

/** An hour ago and later. */
function before(i: number) {
  return new Date(Date.now() - 3_600_000 + i).toISOString()
}
