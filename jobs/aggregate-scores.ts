import { job } from './job.ts'
import type { Executor, Queue } from './queue.ts'
import { shape, uuid } from './shape.ts'

/** Recomputes the score cells of a project that changed since. One waits at a time for each project. */
export const aggregateScores = job('evals.aggregate', shape({ project_id: uuid() }), {
  policy: 'short',
  retryLimit: 5,
  retryDelaySeconds: 2,
  retryDelayMaxSeconds: 120,
  expireInSeconds: 300,
  heartbeatSeconds: 20,
})

/**
 * Has a project's marked cells recomputed soon. Call it late in the transaction that marked them: where
 * another one enqueues the same at that moment, it waits for that one's end.
 */
export async function requestAggregation(
  queue: Queue,
  tx: Executor,
  orgId: string,
  projectId: string,
) {
  await queue.enqueue(
    tx,
    aggregateScores,
    { project_id: projectId },
    { orgId, key: projectId, startAfterSeconds: GATHER_SECONDS },
  )
}

/** What is marked in this time is recomputed once. */
const GATHER_SECONDS = 1
