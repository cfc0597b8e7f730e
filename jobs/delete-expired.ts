import { job } from './job.ts'
import { shape } from './shape.ts'
import { SCHEDULED_WORK } from './queue-options.ts'

/** Deletes what has been kept as long as it is kept. */
export const deleteExpired = job('maint.retention', { payload: shape({}) }, SCHEDULED_WORK)
