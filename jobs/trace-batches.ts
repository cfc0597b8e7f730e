import type { Job } from './job.ts'
import type { Executor } from './pg-boss.ts'
import type { Queue } from './queue.ts'
import { anyText, listOf, shape, uuid } from './shape.ts'

/** Traces one job works on at most. */
export const TRACE_BATCH = 500

/** Traces of a project, which are stored: their ids were checked. */
export const traceBatch = shape({
  project_id: uuid(),
  trace_ids: listOf(anyText()).min(1).max(TRACE_BATCH),
})

/** Cuts traces into batches that one job works on. */
export function* traceBatches<Trace>(traces: readonly Trace[]) {
  for (let from = 0; from < traces.length; from += TRACE_BATCH) {
    yield traces.slice(from, from + TRACE_BATCH)
  }
}

/** Enqueues a job for traces of a project, as many times as it takes, in the caller's transaction. */
export async function enqueueTraces(
  queue: Queue,
  tx: Executor,
  job: Job<{ project_id: string; trace_ids: string[] }>,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
  options: { readonly startAfterSeconds?: number } = {},
) {
  for (const trace_ids of traceBatches(traceIds)) {
    await queue.enqueue(tx, job, { project_id: projectId, trace_ids }, { orgId, ...options })
  }
}
