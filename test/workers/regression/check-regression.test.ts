import { randomUUIDv7 } from 'node:crypto'
import Joi from 'joi'
import t from 'tap'
import { checkRegression } from '../../../jobs/check-regression.ts'
import type { Checkpoint } from '../../../jobs/job.ts'
import { openWorkerContext } from '../../../ops/worker-context.ts'
import type { Progress } from '../../../sql/jobs/jobs.ts'
import { checkRegressionHandler } from '../../../workers/regression/check-regression.ts'
import { registeredAgent } from '../../support/registered-agent.ts'
import { openService } from '../../support/service.ts'

const service = await openService(t)
const worker = await openWorkerContext(service.config, service.url, { slots: 1, supervise: false })
t.teardown(() => worker.close())

const tool = (name: string) => ({ component_type: 'tool', component_name: name })

const checkpointShape = checkRegression.checkpoint as Joi.Schema

t.test('a check that is stopped goes on where it was', async (t) => {
  const { run, pages, judged } = await checked()
  await t.rejects(run('stopped after a page'))
  t.match(await run(), FOUND)
  t.same(pages, ['1000 of 1500', '1500 of 1500'])
  t.same(judged, ['judging 1'], 'what waited is judged once, and told')
})

t.test('a check that a process of an earlier release has begun begins anew', async (t) => {
  const { run, pages, kept } = await checked()
  await t.rejects(run('stopped after a page'))
  delete kept.checkpoint?.walked.risks
  t.match(await run(), FOUND)
  t.same(pages, ['1000 of 1500', '1000 of 1500', '1500 of 1500'])
})

const FOUND = {
  findings: {
    total_traces_analyzed: 1500,
    affected_trace_count: 700,
    high_risk_count: 700,
    compat_summary: { keep: 800, replay: 700 },
    impacts: [{ affected_trace_count: 700, eval_breakdown: { passing_affected: 700 } }],
  },
}

/** A check of 1500 traces, and how far each run of it has come. */
async function checked() {
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
  const pages: string[] = []
  const judged: string[] = []
  const kept: { checkpoint?: Checkpoint<typeof checkRegression> } = {}
  async function run(stop?: 'stopped after a page') {
    const abort = new AbortController()
    return checkRegressionHandler.work(payload, {
      ...worker.context,
      orgId: agent.orgId,
      jobId: randomUUIDv7(),
      attempt: 1,
      checkpointed: kept.checkpoint && Joi.attempt(kept.checkpoint, checkpointShape),
      signal: abort.signal,
      progress: ({ done, note }: Progress) => void judged.push(`${note} ${done}`),
      async checkpoint(_tx: unknown, { done, total }: Progress, cursor?: object) {
        pages.push(`${done} of ${total}`)
        kept.checkpoint = JSON.parse(JSON.stringify(cursor))
        if (stop) abort.abort(stop)
      },
    })
  }
  return { run, pages, judged, kept }
}

/** An hour ago and later. */
function before(i: number) {
  return new Date(Date.now() - 3_600_000 + i).toISOString()
}
