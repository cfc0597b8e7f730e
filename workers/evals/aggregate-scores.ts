import { aggregateScores } from '../../jobs/aggregate-scores.ts'
import { awaitCellWriters, recomputeCells } from '../../sql/score-cells.ts'
import { handler } from '../handler.ts'

/** What is marked while this runs is another job's work: whoever marks it enqueues that. */
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

/** Pairs of agent and day that one transaction recomputes. */
const PAGE = 100
