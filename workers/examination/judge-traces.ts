import type { Transaction } from '../../sql/core/db.ts'
import { judgeTraces as judge } from '../../sql/transactions/judge-traces.ts'
import type { Run } from '../runtime/handler.ts'

/** As `judgeTraces` of `sql/transactions`, and logs each trace whose content cannot be opened. */
export async function judgeTraces(
  { queue, log, orgId }: Pick<Run, 'queue' | 'log' | 'orgId'>,
  tx: Transaction,
  projectId: string,
  traceIds: readonly string[],
) {
  const result = await judge(tx, queue, orgId, projectId, traceIds)
  for (const { trace_id, fault: err } of result.unreadable) {
    const fields = { org_id: orgId, project_id: projectId, trace_id, err }
    log.error(fields, 'a content cannot be read: its trace is not judged')
  }
  return result
}
