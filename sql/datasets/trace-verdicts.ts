import type { Candidate } from '../../jobs/rules/datasets/candidates.ts'
import type { Queryable } from '../core/db.ts'
import { ofPlaced } from './placed-traces.ts'
import type { PlacedTrace } from './placed-traces.ts'
import type { Selection } from './trace-filters.ts'

/** What was decided on a trace. */
export type TraceVerdict = Pick<Candidate, 'verdict' | 'eval_verdict' | 'quality' | 'reasons'> & {
  /** Which policy decided. */
  readonly policy_agent_name: string
  readonly policy_version: number
  /** The manifest that it speaks of. */
  readonly target_manifest_id: string | null
}

/** By trace id. */
export async function listVerdicts(
  sql: Queryable,
  selection: Selection,
  traces: readonly PlacedTrace[],
) {
  const rows = await sql<(TraceVerdict & { trace_id: string })[]>`
    select trace_id, verdict, eval_verdict, quality_avg as quality, target_manifest_id,
      jsonb_path_query_array(reasons, '$[*].code') as reasons, policy_agent_name, policy_version
    from verdicts
    where ${ofPlaced(sql, selection, traces)}`
  return new Map(rows.map((row) => [row.trace_id, row]))
}
