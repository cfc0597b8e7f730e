import { aggregateScores } from '../../jobs/aggregate-scores.ts'
import { awaitCellWriters, recomputeCells } from '../../sql/evals/score-cells.ts'
import { handler } from '../runtime/handler.ts'

/** Cells that are marked while this runs are left to another job, which whoever marks them enqueues. */
export const aggregateScoresHandler = handler(
  aggregateScores,
  async ({ project_id }, { orgId, sql, signal }) => {
    await awaitCellWriters(sql, project_id)
    let taken: number
    do {
      signal.throwIfAborted()
      taken = await sql.begin((tx) => recomputeCells(tx, orgId, project_id, PAGE))
    } while (taken === PAGE)
  },
)

/** Pairs of agent and day that one transaction recomputes: another job of the project waits for it. */
const PAGE = 1
