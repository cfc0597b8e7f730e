import { job } from './job.ts'
import { SECONDS_OF_WORK } from './queue-options.ts'
import { traceBatch } from './trace-batches.ts'

/** Runs the built-in evaluators over traces, decides on each, and makes them searchable. */
export const judgeTraces = job('evals.judge', { payload: traceBatch }, SECONDS_OF_WORK)
