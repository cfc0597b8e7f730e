import { HISTOGRAM_BINS } from '../../jobs/rules/evals/score-summary.ts'
import { withSettings } from '../core/db.ts'
import type { Sql } from '../core/db.ts'
import { COLLECTING } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'

export interface QualityFilter {
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly agentName?: string | undefined
  /** Counts the traces that started at or after it. */
  readonly since?: Date | undefined
}

/**
 * How many decided traces have which quality, in `HISTOGRAM_BINS` equal bins over 0..1; 1 itself is in
 * the last one. Bins without traces are left out. It reads an index of the decisions with a quality, and
 * nothing else of them.
 */
export async function countQualities(sql: Sql, orgId: string, filter: QualityFilter) {
  const { projectIds, agentName, since } = filter
  return withSettings(
    sql,
    COLLECTING,
    (tx) => tx<{ bin: number; n: number }[]>`
      select least(floor(quality_avg * ${HISTOGRAM_BINS}::int)::int, ${HISTOGRAM_BINS - 1}::int) as bin,
        count(*) as n
      from verdicts
      where org_id = ${orgId} ${inProjects(tx, tx`project_id`, projectIds)}
        and quality_avg is not null
        ${agentName === undefined ? tx`` : tx`and agent_name = ${agentName}`}
        ${since ? tx`and started_at >= ${since}` : tx``}
      group by bin`,
  )
}
