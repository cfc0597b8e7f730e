import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { requestJudgement } from '../../jobs/judge-traces.ts'
import { retargetVerdicts } from '../../jobs/retarget-verdicts.ts'
import { countClosedTraces, listClosedTraces } from '../../sql/closed-traces.ts'
import type { ClosedTraceRow } from '../../sql/closed-traces.ts'
import type { Transaction } from '../../sql/db.ts'
import { judgeTraces } from '../../sql/judgements.ts'
import { upsertExaminations } from '../../sql/trace-examinations.ts'
import { handler } from '../handler.ts'
import type { Run } from '../handler.ts'
import { examineTraces, holdActive } from './examine-traces.ts'

/** Page by page; a page is compared, judged and ticked off in one transaction. */
export const retargetVerdictsHandler = handler(
  retargetVerdicts,
  async ({ project_id, agent_name, manifest_id }, run) => {
    const filter = { orgId: run.orgId, projectId: project_id, agentName: agent_name }
    const total = await countClosedTraces(run.sql, filter)
    let cursor = readCheckpoint(run.checkpointed)
    for (;;) {
      run.signal.throwIfAborted()
      const page = await listClosedTraces(run.sql, filter, cursor.after)
      const last = page.at(-1)
      const { compared } = cursor
      if (!last) return { compared, superseded: false }
      const { started_at, trace_id } = last
      const next = { after: { started_at, trace_id }, compared: compared + page.length }
      // The job of the version that has become active meanwhile does the work of this one.
      const isStale = last.active_manifest_id !== manifest_id
      if (isStale || !(await retargetPage(run, project_id, page, next, total))) {
        return { compared, superseded: true }
      }
      cursor = next
    }
  },
)

/** False when another version has become the active one. */
async function retargetPage(
  run: Run,
  projectId: string,
  page: readonly ClosedTraceRow[],
  next: Cursor,
  total: number,
) {
  const { orgId, queue } = run
  const examined = await examineTraces(run.sql, orgId, page, 'compatibility')
  return queue.transaction(run.sql, async (tx: Transaction) => {
    if (!(await holdActive(tx, orgId, projectId, page))) return false
    const rows = examined.map(({ trace, target, compatibility }) => ({
      trace_id: trace.trace_id,
      is_searched: false,
      target_manifest_id: compatibility && target ? target.id : null,
      decision: compatibility,
    }))
    await upsertExaminations(tx, orgId, projectId, rows)
    // All of the page, because what was recorded under the target has another target now, too.
    const ids = page.map(({ trace_id }) => trace_id)
    const { copies, changed } = await judgeTraces(tx, orgId, projectId, ids)
    await requestJudgement(queue, tx, orgId, projectId, copies)
    if (changed) await requestAggregation(queue, tx, orgId, projectId)
    await run.checkpoint(tx, { done: next.compared, total, unit: 'traces' }, next)
    return true
  })
}

/** A checkpoint has been JSON: its time is a text. */
function readCheckpoint(checkpointed: unknown): Cursor {
  if (!checkpointed) return { after: undefined, compared: 0 }
  const cursor = checkpointed as Cursor
  const { after } = cursor
  return { ...cursor, after: after && { ...after, started_at: new Date(after.started_at) } }
}

interface Cursor {
  after: { started_at: Date; trace_id: string } | undefined
  compared: number
}
