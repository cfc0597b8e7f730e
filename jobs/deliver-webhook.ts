import { job } from './job.ts'
import { count, shape, uuid } from './shape.ts'

/**
 * Makes one attempt at a delivery. The queue retries a job whose worker was lost before the attempt
 * began; once it has begun, a repeated job finds that and sends nothing, also when a further attempt is due.
 * That is a job of its own.
 */
export const deliverWebhook = job(
  'webhook.deliver',
  {
    // Jobs of the release before have no number: they make whichever attempt is next.
    payload: shape({ delivery_id: uuid() }, { attempt_no: count() }),
  },
  {
    retryLimit: 5,
    retryDelaySeconds: 1,
    retryDelayMaxSeconds: 30,
    expireInSeconds: 20,
    heartbeatSeconds: 10,
  },
)
