import { job } from './job.ts'
import { SECONDS_OF_WORK } from './queue-options.ts'
import { traceBatch } from './trace-batches.ts'

/**
 * Opens traces to find what their columns do not show: in what they break the contract of their
 * manifest, which agent gave work to which, and how they fit the active manifest when that is another.
 * Links those that name a manifest by its hash. Doing it again changes nothing.
 */
export const detectViolations = job('violations.detect', { payload: traceBatch }, SECONDS_OF_WORK)
