import { job } from './job.ts'
import { shape } from './shape.ts'

/** Has every metric bisected that has reached a further look. */
export const sweepRegressions = job('regression.sweep', shape({}), {
  policy: 'short',
  retryLimit: 2,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 120,
  expireInSeconds: 900,
  heartbeatSeconds: 30,
})
