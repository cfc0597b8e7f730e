import { job } from './job.ts'
import { shape, uuid } from './shape.ts'

/**
 * Makes one attempt at a delivery. The queue retries a job whose worker was lost before the attempt
 * began; once it has begun, a repeated job finds that and sends nothing. A further attempt is a job of
 * its own.
 */
export const deliverWebhook = job(
  'webhook.deliver',
  { payload: shape({ delivery_id: uuid() }) },
  {
    retryLimit: 5,
    retryDelaySeconds: 1,
    retryDelayMaxSeconds: 30,
    expireInSeconds: 20,
    heartbeatSeconds: 10,
  },
)
