import { job } from './job.ts'
import { SLICED_WORK } from './queue-options.ts'
import { anyText, count, shape, uuid } from './shape.ts'

/**
 * Stores the contents of a project's traces, and their repaired ones, in the form that shares what LLM
 * calls repeat. What they say stays as it is, and so do their revisions.
 */
export const rewriteTraces = job(
  'traces.rewrite',
  {
    payload: shape({ project_id: uuid() }),
    checkpoint: shape({
      /** The last trace of those that are done; '' before the first. */
      after: anyText(),
      /** Traces looked at, of so many when it began. */
      done: count(),
      total: count(),
      /** Contents written, and their compressed bytes before and since. */
      rewritten: count(),
      bytes_before: count(),
      bytes_after: count(),
      /** Contents that cannot be read and stay as they are. */
      unreadable: count(),
    }),
  },
  SLICED_WORK,
)
