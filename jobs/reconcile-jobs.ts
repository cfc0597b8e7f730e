import { job } from './job.ts'
import { shape } from './shape.ts'

/** Settles jobs that their queue has given up or lost, and catches up on what was left undone. */
export const reconcileJobs = job('maint.reconcile', shape({}), {
  policy: 'exclusive',
  retryLimit: 2,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 120,
  expireInSeconds: 900,
  heartbeatSeconds: 30,
})
