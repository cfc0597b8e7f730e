import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { requestDetection } from '../../jobs/detect-violations.ts'
import { judgeTraces, requestJudgement } from '../../jobs/judge-traces.ts'
import { judgeTraces as judge } from '../../sql/judgements.ts'
import { listUnsearched } from '../../sql/trace-examinations.ts'
import { transactionalHandler } from '../handler.ts'

export const judgeTracesHandler = transactionalHandler(
  judgeTraces,
  async ({ project_id, trace_ids }, { orgId, queue }, tx) => {
    const { judged, copies, changed } = await judge(tx, orgId, project_id, trace_ids)
    await requestJudgement(queue, tx, orgId, project_id, copies)
    if (changed) await requestAggregation(queue, tx, orgId, project_id)
    const unsearched = await listUnsearched(tx, orgId, project_id, judged)
    await requestDetection(queue, tx, orgId, project_id, unsearched)
    return { judged: judged.length, skipped: trace_ids.length - judged.length }
  },
)
