import { job } from './job.ts'
import { SLICED_WORK } from './queue-options.ts'
import { tracePosition } from './rules/traces/trace-position.ts'
import { count, shape, uuid } from './shape.ts'

/** Makes the tasks of a replay batch: one a trace, judged by how much of it is known. */
export const prepareReplay = job(
  'replay.prepare',
  {
    payload: shape({ batch_id: uuid() }),
    /** How many tasks are made, and the trace of the last one, unless that is gone. */
    checkpoint: shape({ made: count() }, { after: tracePosition }),
  },
  SLICED_WORK,
)
