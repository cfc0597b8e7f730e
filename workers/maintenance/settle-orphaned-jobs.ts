import type { Job } from '../../jobs/job.ts'
import { remedyFor } from '../../jobs/rules/jobs/orphaned.ts'
import {
  endOrphanedJob,
  lockOrphanedJobs,
  requeueOrphanedJob,
  rescueJob,
} from '../../sql/jobs/orphaned-jobs.ts'
import type { OrphanedJobRow } from '../../sql/jobs/orphaned-jobs.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { WorkerContext } from '../runtime/context.ts'

/**
 * Settles the rows of `jobs` that no worker will settle, because a claim was lost, the queue gave up
 * or the queue row vanished. Several processes may do so at once.
 * @param jobs kinds of jobs that can be enqueued again
 * @returns how many jobs were settled
 */
export async function settleOrphanedJobs(
  context: WorkerContext,
  jobs: readonly Job[],
  which: 'claimed' | 'all',
): Promise<number> {
  for (let settled = 0; ;) {
    const found = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const orphaned = await lockOrphanedJobs(tx, which, PAGE)
      for (const row of orphaned) await settle(context, tx, jobs, row)
      return orphaned
    })
    for (const { id } of found) context.queue.announceEnd(id)
    settled += found.length
    if (found.length < PAGE) return settled
  }
}

async function settle(
  { queue, log }: WorkerContext,
  tx: Transaction,
  jobs: readonly Job[],
  row: OrphanedJobRow,
) {
  const remedy = remedyFor(row)
  log.warn({ queue: row.kind, job_id: row.id, queue_row: row.queue_row, ...remedy }, 'reconciled')
  switch (remedy.action) {
    case 'cancel':
      return endOrphanedJob(tx, row, 'canceled', null)
    case 'fail':
      return endOrphanedJob(tx, row, 'failed', remedy.error)
    case 'requeue':
      return requeueOrphanedJob(tx, row, remedy.error)
    case 'rescue': {
      const id = await enqueueAgain()
      return id ? rescueJob(tx, row, id) : endOrphanedJob(tx, row, 'failed', NO_QUEUE)
    }
  }

  async function enqueueAgain() {
    const job = jobs.find(({ name }) => name === row.kind)
    const { org_id: orgId, id } = row
    return job && queue.enqueue(tx, job, row.request, { orgId, jobId: id, key: id })
  }
}

const PAGE = 100
const NO_QUEUE = {
  code: 'queue_row_lost',
  message: 'The job has vanished from its queue, which takes it no more',
  retryable: true,
}
