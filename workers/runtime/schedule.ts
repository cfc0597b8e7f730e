import { deleteExpired } from '../../jobs/delete-expired.ts'
import type { Job } from '../../jobs/job.ts'
import { reconcileJobs } from '../../jobs/reconcile-jobs.ts'
import { settleLostDeliveries } from '../../jobs/settle-lost-deliveries.ts'
import { sweepRegressions } from '../../jobs/sweep-regressions.ts'
import { sweepSkills } from '../../jobs/sweep-skills.ts'
import { sweepStorage } from '../../jobs/sweep-storage.ts'

/** When the system enqueues a job of its own, which has no payload. */
export interface Schedule {
  readonly job: Job<object>
  /** Five cron fields, UTC. A job that was due while nothing ran is enqueued once afterwards. */
  readonly cron: string
}

/**
 * The jobs that run by the clock. Their schedules are rows of the queue library, so that each fires
 * once, however many maintenance processes there are.
 */
export const schedules: readonly Schedule[] = [
  { job: reconcileJobs, cron: '* * * * *' },
  { job: settleLostDeliveries, cron: '* * * * *' },
  { job: sweepRegressions, cron: '*/10 * * * *' },
  { job: deleteExpired, cron: '23 * * * *' },
  { job: sweepSkills, cron: '41 * * * *' },
  { job: sweepStorage, cron: '53 * * * *' },
]
