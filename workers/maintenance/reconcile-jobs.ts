import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { jobs } from '../../jobs/index.ts'
import { reconcileJobs } from '../../jobs/reconcile-jobs.ts'
import type { Transaction } from '../../sql/db.ts'
import { listDirtyProjects } from '../../sql/retention.ts'
import { handler } from '../handler.ts'
import type { Run } from '../handler.ts'
import { settleAstrayJobs } from './settle-astray-jobs.ts'

export const reconcileJobsHandler = handler(reconcileJobs, async (_, run) => {
  await settleAstrayJobs(run, jobs, 'all')
  await requestLeftAggregations(run)
})

/** Where a recomputation was given up, what it left is asked for again. */
async function requestLeftAggregations({ queue, sql, signal }: Run) {
  for (const { org_id, project_id } of await listDirtyProjects(sql, PROJECTS_A_RUN)) {
    signal.throwIfAborted()
    await queue.transaction(sql, (tx: Transaction) =>
      requestAggregation(queue, tx, org_id, project_id),
    )
  }
}

const PROJECTS_A_RUN = 1000
