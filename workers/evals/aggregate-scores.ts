import { aggregateScores, requestAggregation } from '../../jobs/aggregate-scores.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { awaitCellWriters, LARGE_DAY_SECONDS, listDirtyDays } from '../../sql/evals/cell-marks.ts'
import { aggregateDay } from '../../sql/evals/score-cells.ts'
import { CONTINUE, handler } from '../runtime/handler.ts'

/**
 * Brings the cells up to date with what is marked when it begins. What is marked later is left to another
 * job, which whoever marks it enqueues. Where days are put off, a job for all of the project comes later.
 */
export const aggregateScoresHandler = handler(
  aggregateScores,
  async ({ project_id }, { orgId, sql, queue, signal }) => {
    await awaitCellWriters(sql, project_id)
    const dirty = await listDirtyDays(sql, orgId, project_id, STEPS_A_RUN)
    const due = dirty.filter(({ is_early }) => !is_early)
    let isAnyTaken = false
    let steps = 0
    for (const { agent_name, day } of due) {
      const key = { orgId, projectId: project_id, agentName: agent_name, day }
      let outcome
      do {
        signal.throwIfAborted()
        if (steps++ === STEPS_A_RUN) return CONTINUE
        outcome = await aggregateDay(sql, key)
      } while (outcome === 'more')
      isAnyTaken ||= outcome === 'taken'
    }
    if (due.length > 0 && dirty.length === STEPS_A_RUN) return CONTINUE
    if (!isAnyTaken && due.length === dirty.length) return
    const seconds = isAnyTaken ? undefined : LARGE_DAY_SECONDS
    await queue.transaction(sql, (tx: Transaction) =>
      requestAggregation(queue, tx, orgId, project_id, seconds),
    )
  },
)

/** Days added up anew, and pages of traces added, before the jobs of others get their turn. */
const STEPS_A_RUN = 500
