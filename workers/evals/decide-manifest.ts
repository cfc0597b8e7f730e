import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { decideManifest } from '../../jobs/decide-manifest.ts'
import { JUDGE_BATCH, requestJudgement } from '../../jobs/judge-traces.ts'
import type { Transaction } from '../../sql/db.ts'
import { judgeTraces } from '../../sql/judgements.ts'
import { listManifestTraceIds } from '../../sql/trace-lists.ts'
import { listVerdicts } from '../../sql/verdicts.ts'
import { handler } from '../handler.ts'
import type { Run } from '../handler.ts'

/** Page by page in the order of trace ids, so that a run goes on where the last one stopped. */
export const decideManifestHandler = handler(
  decideManifest,
  async ({ project_id, manifest_id }, run) => {
    let cursor = (run.checkpointed as Cursor | undefined) ?? {
      after: '',
      total: 0,
      verdict_counts: {},
    }
    for (;;) {
      run.signal.throwIfAborted()
      const next = await decidePage(run, project_id, manifest_id, cursor)
      if (!next) return { total: cursor.total, verdict_counts: cursor.verdict_counts }
      cursor = next
    }
  },
)

/** Undefined when there are no further traces. */
async function decidePage(run: Run, projectId: string, manifestId: string, from: Cursor) {
  const { orgId, queue, sql } = run
  const ids = await listManifestTraceIds(sql, orgId, projectId, manifestId, from.after, JUDGE_BATCH)
  const last = ids.at(-1)
  if (last === undefined) return undefined
  return queue.transaction(sql, async (tx: Transaction) => {
    const { judged, copies, changed } = await judgeTraces(tx, orgId, projectId, ids)
    const verdicts = await listVerdicts(tx, orgId, projectId, judged)
    const verdict_counts = { ...from.verdict_counts }
    for (const { verdict } of verdicts) verdict_counts[verdict] = (verdict_counts[verdict] ?? 0) + 1
    const next = { after: last, total: from.total + judged.length, verdict_counts }
    await run.checkpoint(tx, { done: next.total, unit: 'traces' }, next)
    await requestJudgement(queue, tx, orgId, projectId, copies)
    if (changed) await requestAggregation(queue, tx, orgId, projectId)
    return next
  })
}

interface Cursor {
  /** The last trace id that was decided on; '' before the first. */
  after: string
  total: number
  verdict_counts: Record<string, number>
}
