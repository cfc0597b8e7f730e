import { job } from './job.ts'
import { compatTally } from './rules/manifests/compat-tally.ts'
import { tracePosition } from './rules/traces/trace-position.ts'
import { shape, uuid } from './shape.ts'
import { MINUTES_OF_WORK } from './queue-options.ts'

/** Decides, for the traces of an old manifest, what a new one makes of each. */
export const analyzeCompatibility = job(
  'compat.analyze',
  {
    payload: shape({ report_id: uuid() }),
    /** The last page that was written, and the tally of all until then. */
    checkpoint: shape({ after: tracePosition, tally: compatTally }),
  },
  MINUTES_OF_WORK,
)
