import { deleteExpired } from '../jobs/delete-expired.ts'
import type { Job } from '../jobs/job.ts'
import { reconcileJobs } from '../jobs/reconcile-jobs.ts'
import { settleLostDeliveries } from '../jobs/settle-lost-deliveries.ts'
import { sweepRegressions } from '../jobs/sweep-regressions.ts'

/** A job of the system that is put into its queue again and again, without a payload. */
export interface Schedule {
  readonly job: Job<object>
  /** Five cron fields, UTC. What was due while nothing ran is made up for once. */
  readonly cron: string
}

/**
 * What runs by the clock. The schedules are rows of the queue, so that any maintenance process fires
 * them, each once, however many there are.
 */
export const schedules: readonly Schedule[] = [
  { job: reconcileJobs, cron: '* * * * *' },
  { job: settleLostDeliveries, cron: '* * * * *' },
  { job: sweepRegressions, cron: '*/10 * * * *' },
  { job: deleteExpired, cron: '23 * * * *' },
]
