import { jobs } from '../../jobs/index.ts'
import type { WorkerContext } from '../runtime/context.ts'
import { settleOrphanedJobs } from './settle-orphaned-jobs.ts'

/**
 * Settles jobs whose workers were lost. The queue library takes the claims of silent workers away; this
 * brings the rows of `jobs` up to date. Every process that supervises the queue does so, and what one
 * pass leaves, another one settles.
 */
export function superviseJobs(context: WorkerContext): () => Promise<void> {
  let passing: Promise<void> | undefined
  async function pass() {
    try {
      await settleOrphanedJobs(context, jobs, 'claimed')
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

/** A job shows as running without a worker for at most this, its heartbeat and the queue's own pass. */
const PASS_MS = 3000
