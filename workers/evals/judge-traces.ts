import { detectViolations } from '../../jobs/detect-violations.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { listUnsearched } from '../../sql/manifests/trace-examinations.ts'
import { judgeTraces as judge } from '../examination/judge-traces.ts'
import { transactionalHandler } from '../runtime/handler.ts'

export const judgeTracesHandler = transactionalHandler(
  judgeTraces,
  async ({ project_id, trace_ids }, run, tx) => {
    const { orgId, queue } = run
    const { judged, unreadable } = await judge(run, tx, project_id, trace_ids)
    const unsearched = await listUnsearched(tx, orgId, project_id, judged)
    await enqueueTraces(queue, tx, detectViolations, orgId, project_id, unsearched)
    const skipped = trace_ids.length - judged.length - unreadable.length
    return { judged: judged.length, skipped, unreadable: unreadable.length }
  },
)
