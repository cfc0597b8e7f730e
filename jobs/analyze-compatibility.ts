import { job } from './job.ts'
import { shape, uuid } from './shape.ts'

/** Decides, for the traces of an old manifest, what a new one makes of each. */
export const analyzeCompatibility = job('compat.analyze', shape({ report_id: uuid() }), {
  policy: 'exclusive',
  retryLimit: 3,
  retryDelaySeconds: 5,
  retryDelayMaxSeconds: 120,
  expireInSeconds: 1800,
  heartbeatSeconds: 30,
})
