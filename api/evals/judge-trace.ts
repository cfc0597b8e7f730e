import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { judgeTraces } from '../../sql/transactions/judge-traces.ts'
import type { TraceKey } from '../../sql/traces/traces.ts'

/** Judges one trace. @throws what `decodeContent` throws, where its content cannot be opened */
export async function judgeTrace(tx: Transaction, queue: Queue, key: TraceKey) {
  const { org_id, project_id, trace_id } = key
  const { unreadable } = await judgeTraces(tx, queue, org_id, project_id, [trace_id])
  for (const { fault } of unreadable) throw fault
}
