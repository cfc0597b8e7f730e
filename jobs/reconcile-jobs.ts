import { job } from './job.ts'
import { shape } from './shape.ts'
import { SCHEDULED_WORK } from './queue-options.ts'

/** Settles jobs that their queue has given up or lost, and catches up on what was left undone. */
export const reconcileJobs = job('maint.reconcile', { payload: shape({}) }, SCHEDULED_WORK)
