import { job } from './job.ts'
import { shape } from './shape.ts'

/**
 * Settles attempts at webhook deliveries whose worker was lost in the middle of them, and deliveries whose job
 * was given up before.
 */
export const settleLostDeliveries = job(
  'maint.deliveries',
  { payload: shape({}) },
  {
    policy: 'exclusive',
    retryLimit: 2,
    retryDelaySeconds: 10,
    retryDelayMaxSeconds: 60,
    expireInSeconds: 300,
    heartbeatSeconds: 30,
  },
)
