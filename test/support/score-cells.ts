import type { Sql } from '../../sql/core/db.ts'
import { listDirtyDays } from '../../sql/evals/cell-marks.ts'
import { aggregateDay } from '../../sql/evals/score-cells.ts'

/** Brings the cells of a project up to date with its marks. Returns how many days they are of. */
export async function recomputeCells(sql: Sql, { orgId, projectId }: Project) {
  const dirty = await listDirtyDays(sql, orgId, projectId, 1000)
  for (const { agent_name: agentName, day } of dirty) {
    const key = { orgId, projectId, agentName, day }
    while ((await aggregateDay(sql, key)) === 'more');
  }
  return dirty.length
}

interface Project {
  readonly orgId: string
  readonly projectId: string
}
