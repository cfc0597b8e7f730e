import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
import type { Queryable } from '../core/db.ts'
import { counted } from '../traces/trace-counts.ts'
import type { CountFilter } from '../traces/trace-counts.ts'

export interface VerdictCount {
  verdict: Verdict
  n: number
  /** How many have the eval_verdict `pass`. */
  passed: number
  /** How many have a quality, and the sum of these. */
  scored: number
  quality_sum: number
}

/** Counts of the decided traces by verdict, in the order of its name. As exact as `countTracesByFacet`. */
export async function countVerdicts(sql: Queryable, filter: CountFilter) {
  return sql<VerdictCount[]>`
    select verdict, sum(n)::int8 as n,
      coalesce(sum(n) filter (where eval_verdict = 'pass'), 0)::int8 as passed,
      sum(scored)::int8 as scored, sum(quality_sum)::float8 as quality_sum
    from all_verdict_counts where ${counted(sql, filter)}
    group by verdict having sum(n) > 0 order by verdict`
}
