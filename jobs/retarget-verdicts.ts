import { job } from './job.ts'
import { tracePosition } from './rules/traces/trace-position.ts'
import { count, shape, text, uuid } from './shape.ts'
import { MINUTES_OF_WORK } from './queue-options.ts'

/**
 * Decides anew on the traces of an agent when another of its manifests has become the active one, which
 * all of them are measured against. Ends early when yet another one has.
 */
export const retargetVerdicts = job(
  'compat.retarget',
  {
    payload: shape({ project_id: uuid(), agent_name: text(), manifest_id: uuid() }),
    /** The last trace that was compared, and how many were. */
    checkpoint: shape({ after: tracePosition, compared: count() }),
  },
  { ...MINUTES_OF_WORK, retryLimit: 5 },
)
