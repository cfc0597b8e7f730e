import t from 'tap'
import { buildDatasetHandler } from '../../workers/datasets/build-dataset.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { buildDataset } from '../support/built-dataset.ts'
import { runCommand } from '../support/command.ts'
import { openService } from '../support/service.ts'
import { storeJudged } from '../support/stored-traces.ts'

t.test('usage now names the organizations that use most', async (t) => {
  const service = await openService(t)
  const { sql, context, boss } = service
  const [large, small] = [await service.makeOrganization(), await service.makeOrganization()]
  await service.startWorkers([buildDatasetHandler], 1)

  async function use({ orgId, projectId, key }: typeof large, n: number) {
    const traces = Array.from({ length: n }, (_, i) => ({ trace_id: `t${i}` }))
    await storeJudged(sql, { orgId, projectId }, traces)
    await buildDataset(service.client(key), 'sft')
    await context.queue.transaction(sql, async (tx: Transaction) => {
      for (const { trace_id } of traces) {
        const payload = { project_id: projectId, trace_ids: [trace_id] }
        await context.queue.enqueue(tx, judgeTraces, payload, { orgId })
      }
    })
  }
  await use(small, 1)
  await use(large, 3)
  await boss.fetch(judgeTraces.name)
  // Those of the last minute count.
  await sql`update rate_buckets set last_used_at = now()`

  const name = (org: typeof large) => ({ org_id: org.orgId, org_name: `org ${org.orgId}` })
  t.match(await runCommand(service, 'usage now'), {
    by_jobs: [
      { ...name(large), waiting: 3, running: 0, queues: { 'evals.judge': { waiting: 3 } } },
      { ...name(small), waiting: 0, running: 1, plan: 'enterprise' },
    ],
    by_requests: [{ keys_in_use: 1 }, { keys_in_use: 1 }],
    by_traces: [
      { ...name(large), traces_last_hour: 3, traces_last_day: 3 },
      { ...name(small), traces_last_hour: 1, traces_last_day: 1 },
    ],
    by_stored_bytes: [{ ...name(large), upload_bytes: 0 }, name(small)],
  })
  const { by_jobs } = (await runCommand(service, 'usage now', { limit: 1 })) as {
    by_jobs: object[]
  }
  t.equal(by_jobs.length, 1)
})
