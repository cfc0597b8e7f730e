import type { Job } from '../jobs/job.ts'
import type { WorkerContext } from './handler.ts'
import { settleAstrayJobs } from './maintenance/settle-astray-jobs.ts'

/**
 * The part of supervision that is ours: the queue library takes claims away from workers it does not
 * hear of, this lets the jobs they had say so. For the processes that supervise the queue; what one
 * does not get to, another or the next pass does.
 */
export function superviseJobs(context: WorkerContext, jobs: readonly Job[]): () => Promise<void> {
  let passing: Promise<void> | undefined
  async function pass() {
    try {
      await settleAstrayJobs(context, jobs, 'claimed')
    } catch (err) {
      context.log.warn({ err }, 'lost jobs could not be settled')
    }
    passing = undefined
  }
  const ticking = setInterval(() => {
    passing ??= pass()
  }, PASS_MS)
  return async () => {
    clearInterval(ticking)
    await passing
  }
}

/** With the heartbeat and the queue's own pass, the longest a job is shown running without a worker. */
const PASS_MS = 3000
