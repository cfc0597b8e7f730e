import { job } from './job.ts'
import type { Executor, Queue } from './queue.ts'
import { clientId, listOf, shape, uuid } from './shape.ts'

/** Traces a job judges at most. */
export const JUDGE_BATCH = 500

/** Runs the built-in evaluators over traces, decides on each, and makes them searchable. */
export const judgeTraces = job(
  'evals.judge',
  shape({ project_id: uuid(), trace_ids: listOf(clientId()).min(1).max(JUDGE_BATCH) }),
  {
    retryLimit: 5,
    retryDelaySeconds: 2,
    retryDelayMaxSeconds: 120,
    expireInSeconds: 300,
    heartbeatSeconds: 20,
  },
)

/** Has traces of a project judged, as many jobs as it takes, once the caller's transaction commits. */
export async function requestJudgement(
  queue: Queue,
  tx: Executor,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  for (let at = 0; at < traceIds.length; at += JUDGE_BATCH) {
    const trace_ids = traceIds.slice(at, at + JUDGE_BATCH)
    await queue.enqueue(tx, judgeTraces, { project_id: projectId, trace_ids }, { orgId })
  }
}
