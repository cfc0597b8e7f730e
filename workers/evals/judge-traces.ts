import { detectViolations } from '../../jobs/detect-violations.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { listUnsearched } from '../../sql/manifests/trace-examinations.ts'
import { judgeTraces as judge } from '../../sql/transactions/judge-traces.ts'
import { transactionalHandler } from '../runtime/handler.ts'

export const judgeTracesHandler = transactionalHandler(
  judgeTraces,
  async ({ project_id, trace_ids }, { orgId, queue }, tx) => {
    const { judged } = await judge(tx, queue, orgId, project_id, trace_ids)
    const unsearched = await listUnsearched(tx, orgId, project_id, judged)
    await enqueueTraces(queue, tx, detectViolations, orgId, project_id, unsearched)
    return { judged: judged.length, skipped: trace_ids.length - judged.length }
  },
)
