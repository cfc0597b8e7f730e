import { job } from './job.ts'
import type { Executor, Queue } from './queue.ts'
import { clientId, listOf, shape, uuid } from './shape.ts'

/** Traces a job opens at most. */
const DETECTION_BATCH = 500

/**
 * Opens traces to find what their columns do not tell: in what they break the contract of their
 * manifest, who gave work to whom, and how they fit the active manifest when that is another. Links
 * those that name a manifest by its hash. Doing it again changes nothing.
 */
export const detectViolations = job(
  'violations.detect',
  shape({ project_id: uuid(), trace_ids: listOf(clientId()).min(1).max(DETECTION_BATCH) }),
  {
    retryLimit: 5,
    retryDelaySeconds: 2,
    retryDelayMaxSeconds: 120,
    expireInSeconds: 300,
    heartbeatSeconds: 20,
  },
)

/** Has traces of a project opened, as many jobs as it takes, once the caller's transaction commits. */
export async function requestDetection(
  queue: Queue,
  tx: Executor,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  for (let at = 0; at < traceIds.length; at += DETECTION_BATCH) {
    const trace_ids = traceIds.slice(at, at + DETECTION_BATCH)
    await queue.enqueue(tx, detectViolations, { project_id: projectId, trace_ids }, { orgId })
  }
}
