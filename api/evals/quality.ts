import { policyFor } from '../../jobs/rules/evals/decision-policy.ts'
import { compatibilityAverage, fuse, groupScores } from '../../jobs/rules/evals/quality.ts'
import { evalVerdict } from '../../jobs/rules/evals/verdict.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { listCurrentPolicies } from '../../sql/evals/decision-policies.ts'
import type { ScoreRow } from '../../sql/evals/eval-scores.ts'
import type { TraceKey } from '../../sql/traces/traces.ts'

/** The quality of a trace by its scores and the current policy, before the trace is judged anew. */
export async function readQuality(
  sql: Queryable,
  trace: TraceKey & { agent_name: string },
  scores: readonly ScoreRow[],
) {
  const policies = await listCurrentPolicies(sql, trace.org_id, trace.project_id)
  const { settings } = policyFor(policies, trace.agent_name)
  const judged = scores.map((score) => ({ ...score, family: familyOf(score) }))
  const groups = groupScores(judged, settings)
  const quality_avg = fuse(groups)
  return {
    groups,
    quality_avg,
    compat_avg: compatibilityAverage(judged),
    eval_verdict: evalVerdict(quality_avg, settings),
  }
}

function familyOf({ metadata }: ScoreRow) {
  const { family } = metadata
  if (family === undefined || family === null) return null
  return typeof family === 'string' ? family : JSON.stringify(family)
}
