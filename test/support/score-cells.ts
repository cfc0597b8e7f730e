import type { Sql } from '../../sql/core/db.ts'
import { listDirtyDays, recomputeDay } from '../../sql/evals/score-cells.ts'

/** Recomputes the cells of a project that are marked. Returns how many days they are of. */
export async function recomputeCells(sql: Sql, { orgId, projectId }: Project) {
  const dirty = await listDirtyDays(sql, orgId, projectId, 1000)
  for (const { agent_name: agentName, day } of dirty) {
    await sql.begin((tx) => recomputeDay(tx, { orgId, projectId, agentName, day }))
  }
  return dirty.length
}

interface Project {
  readonly orgId: string
  readonly projectId: string
}
