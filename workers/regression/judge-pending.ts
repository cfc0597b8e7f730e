import { TRACE_BATCH, traceBatches } from '../../jobs/trace-batches.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { AgentKey } from '../../sql/manifests/manifests.ts'
import { listPendingTraces } from '../../sql/regression/pending-traces.ts'
import type { Compared } from '../../sql/regression/pending-traces.ts'
import { judgeTraces } from '../examination/judge-traces.ts'
import type { Run } from '../runtime/handler.ts'

/**
 * Judges the compared traces that wait to be judged, so that what a check finds does not depend on how
 * far other workers are. The jobs they wait for then have nothing new to do.
 */
export async function judgePending(run: Run, agent: AgentKey, compared: Compared) {
  const { queue, sql, signal } = run
  let judged = 0
  let after = ''
  for (;;) {
    const pending = await listPendingTraces(sql, agent, compared, { after, limit: PENDING_PAGE })
    for (const ids of traceBatches(pending)) {
      signal.throwIfAborted()
      await queue.transaction(sql, (tx: Transaction) => judgeTraces(run, tx, agent.projectId, ids))
      judged += ids.length
      run.progress({ done: judged, unit: 'traces', note: 'judging' })
    }
    const last = pending.at(-1)
    if (last === undefined || pending.length < PENDING_PAGE) return
    after = last
  }
}

/** Each page reads the queue anew, so it has several batches. */
const PENDING_PAGE = 10 * TRACE_BATCH
