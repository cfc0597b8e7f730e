import { job } from './job.ts'
import { MINUTES_OF_WORK } from './queue-options.ts'
import { repairTally } from './rules/manifests/repair-tally.ts'
import { tracePosition } from './rules/traces/trace-position.ts'
import { count, shape, uuid } from './shape.ts'

/** Repairs the traces of an old manifest for a new one. */
export const applyRepair = job(
  'repair.apply',
  {
    payload: shape({ batch_id: uuid() }),
    /** The last page that was written, and what all traces until then came to. */
    checkpoint: shape({ after: tracePosition, walked: count(), tally: repairTally }),
  },
  MINUTES_OF_WORK,
)
