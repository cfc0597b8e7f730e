import { randomUUID } from 'node:crypto'
import t from 'tap'
import { reconcileJobs } from '../../../jobs/reconcile-jobs.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { reconcileJobsHandler } from '../../../workers/maintenance/reconcile-jobs.ts'
import { makeAgent, openAgentService } from '../../support/agents.ts'
import { until } from '../../support/until.ts'

t.test('a correction of the release before changes the decision once it is due', async (t) => {
  const service = await openAgentService(t)
  const { sql, context } = service
  const agent = await makeAgent(service)
  const { orgId, projectId } = agent.org

  async function storeCorrected(dueIn: string) {
    const id = await agent.store([], { scores: { reward: 0 } })
    await agent.settled()
    await sql`
      insert into annotations (org_id, project_id, trace_id, id, corrected_output, created_by,
        error_categories, tags)
      values (${orgId}, ${projectId}, ${id}, ${randomUUID()}, 'All is well', ${randomUUID()}, '{}', '{}')`
    await sql`
      insert into corrected_traces_due (org_id, project_id, trace_id, due_at)
      values (${orgId}, ${projectId}, ${id}, now() + ${dueIn}::interval)`
    return id
  }

  const due = await storeCorrected('-1 second')
  const later = await storeCorrected('1 hour')
  t.match(await agent.decision(due), { verdict: 'drop' })
  await service.startWorkers([reconcileJobsHandler])
  await context.queue.transaction(sql, (tx: Transaction) =>
    context.queue.enqueue(tx, reconcileJobs, {}, { orgId: null }),
  )
  await until(async () => (await agent.decision(due)).verdict === 'repair')
  t.match(await agent.decision(later), { verdict: 'drop' })
  t.same(await sql`select trace_id from corrected_traces_due where org_id = ${orgId}`, [
    { trace_id: later },
  ])
})
