import type { Job } from '../../jobs/job.ts'
import { remedyFor } from '../../jobs/rules/astray.ts'
import { endAstrayJob, lockAstrayJobs, requeueAstrayJob, rescueJob } from '../../sql/astray-jobs.ts'
import type { AstrayJobRow } from '../../sql/astray-jobs.ts'
import type { Transaction } from '../../sql/db.ts'
import type { WorkerContext } from '../handler.ts'

/**
 * Brings the rows of `jobs` in line with their queue where no worker will: after a claim was lost, a
 * queue gave up, or a queue row vanished. Several processes may do so at once.
 * @param jobs what can be put into its queue again
 * @returns how many were settled
 */
export async function settleAstrayJobs(
  context: WorkerContext,
  jobs: readonly Job[],
  which: 'claimed' | 'all',
): Promise<number> {
  for (let settled = 0; ;) {
    const found = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const astray = await lockAstrayJobs(tx, which, PAGE)
      for (const row of astray) await settle(context, tx, jobs, row)
      return astray
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
  row: AstrayJobRow,
) {
  const remedy = remedyFor(row)
  log.warn(
    { queue: row.kind, job_id: row.id, queue_state: row.queue_state, ...remedy },
    'reconciled',
  )
  switch (remedy.action) {
    case 'cancel':
      return endAstrayJob(tx, row, 'cancelled', null)
    case 'fail':
      return endAstrayJob(tx, row, 'failed', remedy.error)
    case 'requeue':
      return requeueAstrayJob(tx, row, remedy.error)
    case 'rescue': {
      const id = await enqueueAgain()
      return id ? rescueJob(tx, row, id) : endAstrayJob(tx, row, 'failed', NO_QUEUE)
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
  retryable: false,
}
