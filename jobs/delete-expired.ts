import { job } from './job.ts'
import { shape } from './shape.ts'

/** Deletes what has been kept as long as it is kept. */
export const deleteExpired = job('maint.retention', shape({}), {
  policy: 'exclusive',
  retryLimit: 2,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 120,
  expireInSeconds: 900,
  heartbeatSeconds: 30,
})
