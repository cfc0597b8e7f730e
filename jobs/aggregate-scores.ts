import { job } from './job.ts'
import type { Executor } from './pg-boss.ts'
import type { Queue } from './queue.ts'
import { shape, uuid } from './shape.ts'
import { SECONDS_OF_WORK } from './queue-options.ts'

/** Brings the score cells of a project up to date with what is marked. One waits at a time for each project. */
export const aggregateScores = job(
  'evals.aggregate',
  { payload: shape({ project_id: uuid() }) },
  { ...SECONDS_OF_WORK, policy: 'short' },
)

/**
 * Has a project's cells soon brought up to date with what is marked. Call it late in the transaction that
 * marked it: where another one enqueues the same at that moment, it waits for that one's end.
 * @param afterSeconds what is marked in this time is aggregated at once
 */
export async function requestAggregation(
  queue: Queue,
  tx: Executor,
  orgId: string,
  projectId: string,
  afterSeconds = 1,
) {
  await queue.enqueue(
    tx,
    aggregateScores,
    { project_id: projectId },
    { orgId, key: projectId, startAfterSeconds: afterSeconds },
  )
}
