import { job } from './job.ts'
import { anyTime, count, shape, uuid } from './shape.ts'

/** Sends the tasks of a replay batch to its runner, until none is open or the batch is paused. */
export const dispatchReplay = job(
  'replay.dispatch',
  {
    payload: shape({ batch_id: uuid() }),
    checkpoint: shape(
      {
        /** Requests that failed since the last one that did not. */
        failures: count(),
      },
      {
        /** Nothing is sent before. */
        not_before: anyTime(),
        /** Since when no task went out and no answer came. */
        quiet_since: anyTime(),
      },
    ),
  },
  {
    policy: 'exclusive',
    retryLimit: 5,
    retryDelaySeconds: 5,
    retryDelayMaxSeconds: 300,
    expireInSeconds: 900,
    heartbeatSeconds: 20,
  },
)
