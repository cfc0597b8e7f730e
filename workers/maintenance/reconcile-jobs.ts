import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { jobs } from '../../jobs/index.ts'
import { reconcileJobs } from '../../jobs/reconcile-jobs.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listDirtyProjects } from '../../sql/jobs/retention.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'
import { settleOrphanedJobs } from './settle-orphaned-jobs.ts'

export const reconcileJobsHandler = handler(reconcileJobs, async (_, run) => {
  await settleOrphanedJobs(run, jobs, 'all')
  await requestLeftAggregations(run)
})

/** Requests the recomputation of cells that are still marked because an earlier one was given up. */
async function requestLeftAggregations({ queue, sql, signal }: Run) {
  for (const { org_id, project_id } of await listDirtyProjects(sql, PROJECTS_A_RUN)) {
    signal.throwIfAborted()
    await queue.transaction(sql, (tx: Transaction) =>
      requestAggregation(queue, tx, org_id, project_id),
    )
  }
}

const PROJECTS_A_RUN = 1000
