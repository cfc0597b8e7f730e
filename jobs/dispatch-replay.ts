import { job } from './job.ts'
import { SLICED_WORK } from './queue-options.ts'
import { anyTime, bool, count, shape, text, uuid } from './shape.ts'

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
        /** What the last of them failed of. */
        fault: text(),
        /** The month's quota did not hold a result. */
        is_over_quota: bool(),
        /** Nothing is sent before. */
        not_before: anyTime(),
        /** Since when no task went out and no answer came. */
        quiet_since: anyTime(),
      },
    ),
  },
  SLICED_WORK,
)
