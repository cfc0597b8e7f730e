import type { Checkpoint } from '../../jobs/job.ts'
import { retargetVerdicts } from '../../jobs/retarget-verdicts.ts'
import {
  countClosedTraces,
  listClosedTraces,
  lockUnrevised,
} from '../../sql/manifests/closed-traces.ts'
import type { ClosedTraceRow } from '../../sql/manifests/closed-traces.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { upsertExaminations } from '../../sql/manifests/trace-examinations.ts'
import { handler } from '../runtime/handler.ts'
import type { ResumableRun } from '../runtime/handler.ts'
import { examinationRow, examineTraces, holdActive } from '../examination/examine-traces.ts'
import { judgeTraces } from '../examination/judge-traces.ts'

/** Works page by page. One transaction stores the comparisons of a page, its judgements and the checkpoint. */
export const retargetVerdictsHandler = handler(
  retargetVerdicts,
  async ({ project_id, agent_name, manifest_id }, run) => {
    const filter = { orgId: run.orgId, projectId: project_id, agentName: agent_name }
    const total = await countClosedTraces(run.sql, filter)
    let cursor = run.checkpointed
    for (;;) {
      run.signal.throwIfAborted()
      const page = await listClosedTraces(run.sql, filter, cursor?.after)
      const last = page.at(-1)
      const compared = cursor?.compared ?? 0
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

/** Returns false when another version has become the active one. */
async function retargetPage(
  run: ResumableRun<Cursor>,
  projectId: string,
  page: readonly ClosedTraceRow[],
  next: Cursor,
  total: number,
) {
  const { orgId, queue } = run
  const examined = await examineTraces(run, page, 'compatibility')
  return queue.transaction(run.sql, async (tx: Transaction) => {
    if (!(await holdActive(tx, orgId, projectId, page))) return false
    const unrevised = await lockUnrevised(tx, orgId, projectId, page)
    const compared = examined.filter(({ trace }) => unrevised.has(trace.trace_id))
    const rows = compared.map((each) => examinationRow(each, false))
    await upsertExaminations(tx, orgId, projectId, rows)
    // All traces are judged, because those recorded under the target have another target now, too.
    await judgeTraces(run, tx, projectId, [...unrevised])
    await run.checkpoint(tx, { done: next.compared, total, unit: 'traces' }, next)
    return true
  })
}

type Cursor = Checkpoint<typeof retargetVerdicts>
