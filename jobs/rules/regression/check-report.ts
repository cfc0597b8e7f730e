import { VERDICT_MESSAGES } from './check-findings.ts'
import type {
  CheckFindings,
  CheckWarning,
  DiffSummary,
  DownstreamImpact,
  EvalBreakdown,
  SurfaceImpact,
} from './check-findings.ts'
import { noVerdicts } from '../manifests/compat-tally.ts'
import type { CompatTally, VerdictCounts } from '../manifests/compat-tally.ts'
import { describe } from '../manifests/change-sentence.ts'
import { riskOf, structuralSeverity } from '../manifests/impact.ts'
import type { Risk } from '../manifests/impact.ts'
import { droppedMetrics, judgeCheck } from './check-verdict.ts'
import { isMixShift } from './metric-check.ts'
import type { MetricCheck } from './metric-check.ts'
import type { SurfaceChange } from '../manifests/surface-change.ts'
import type { CheckTallies, WalkedTraces } from './walked-traces.ts'

export interface CheckEvidence {
  readonly changes: readonly SurfaceChange[]
  readonly walked: Pick<WalkedTraces, 'tallies' | 'risks'>
  readonly metrics: readonly MetricCheck[]
  readonly downstream: DownstreamImpact
  readonly fingerprint: string | null
}

/** The findings of a check that has a baseline. */
export function reportFindings(evidence: CheckEvidence): CheckFindings {
  const { changes, walked, metrics } = evidence
  const { tallies, risks } = walked
  const { all } = tallies
  const effective = changes.filter(({ state }) => state !== 'doc_only')
  const impacts = effective.map((change, i) => describeImpact(change, `impact_${i + 1}`, tallies))
  const judged = judgeCheck({ impacts, tally: all, metrics })
  return {
    ...judged,
    verdict_message: VERDICT_MESSAGES[judged.verdict],
    structural_severity: structuralSeverity(changes),
    high_risk_count: risks.high,
    medium_risk_count: risks.medium,
    low_risk_count: risks.low,
    total_traces_analyzed: all.total_episodes,
    affected_trace_count: all.affected_trace_count,
    diff_summary: summarizeDiff(effective),
    compat_summary: countVerdicts(all),
    verdicts_by_score: {
      passing: countVerdicts(tallies.passing),
      failing: countVerdicts(tallies.failing),
      unscored: countVerdicts(tallies.unscored),
    },
    eval_verdict: judgeEvals(impacts, tallies, metrics),
    eval_breakdown: { ...affectedOf(tallies), eval_capped: false },
    downstream_impact: evidence.downstream,
    impacts,
    metrics: [...metrics],
    warnings: warn(evidence),
    data_fingerprint: evidence.fingerprint,
  }
}

/** By traffic, or by structure where there is none. */
function describeImpact(change: SurfaceChange, id: string, tallies: CheckTallies): SurfaceImpact {
  const used = tallies.all.surfaces[change.surface]
  const affected = used?.affected ?? 0
  const isMeasured = tallies.all.total_episodes > 0
  const severity = isMeasured ? riskOf(change, affected) : (structuralSeverity([change]) ?? 'low')
  return {
    id,
    surface_change_type: change.change_type,
    surface_name: change.component_name,
    severity,
    affected_trace_count: affected,
    verdicts: countVerdicts(used ?? noVerdicts()),
    sample_trace_ids: used?.sample_trace_ids ?? [],
    explanation: `${describe(change)}; ${explain(affected, tallies.all.total_episodes)}`,
    eval_breakdown: affectedOf(tallies, change.surface),
  }
}

function explain(affected: number, total: number) {
  if (total === 0) return 'no recorded trace tells whether it is used'
  return `used by ${affected} of ${total} traces`
}

function affectedOf({ passing, failing, unscored }: CheckTallies, surface?: string): EvalBreakdown {
  const affected = (tally: CompatTally) =>
    surface === undefined ? tally.affected_trace_count : (tally.surfaces[surface]?.affected ?? 0)
  return {
    passing_affected: affected(passing),
    failing_affected: affected(failing),
    unscored_affected: affected(unscored),
  }
}

/**
 * `clean` where nothing that is affected has passing scores, `expected_impact` where something is
 * affected and nothing tells that it is worse.
 */
function judgeEvals(
  impacts: readonly SurfaceImpact[],
  { all }: CheckTallies,
  metrics: readonly MetricCheck[],
): CheckFindings['eval_verdict'] {
  const hitsPassing = impacts.some(
    ({ severity, eval_breakdown }) => severity === 'high' && eval_breakdown.passing_affected > 0,
  )
  if (hitsPassing || droppedMetrics(metrics).length > 0) return 'regression_likely'
  return all.affected_trace_count > 0 ? 'expected_impact' : 'clean'
}

function summarizeDiff(changes: readonly SurfaceChange[]): DiffSummary {
  const shown = changes.map((change) => ({
    type: change.change_type,
    name: change.component_name,
    severity: structuralSeverity([change]) ?? 'low',
    detail: { new_name: change.new_name, breaking: change.breaking, details: change.details },
  }))
  const count = (risk: Risk) => shown.filter(({ severity }) => severity === risk).length
  return {
    total_changes: shown.length,
    high_severity_changes: count('high'),
    medium_severity_changes: count('medium'),
    low_severity_changes: count('low'),
    changes: shown,
  }
}

function countVerdicts({ keep, repair, replay, drop }: VerdictCounts): VerdictCounts {
  return { keep, repair, replay, drop }
}

function warn({ walked: { tallies }, metrics }: CheckEvidence): CheckWarning[] {
  const warnings: CheckWarning[] = metrics.filter(isMixShift).map(({ metric }) => ({
    code: 'mix_shift',
    message: `${metric}: the mix of tasks differs between the versions; its delta is at the candidate's mix`,
  }))
  const { all, unscored } = tallies
  if (all.affected_trace_count > 0 && unscored.affected_trace_count === all.affected_trace_count) {
    const message = 'No affected trace has a score: whether good traffic is hit cannot be told'
    warnings.push({ code: 'unscored_traffic', message })
  }
  const unverifiable = all.reason_counts['tool_schema_unverifiable'] ?? 0
  if (unverifiable > 0) {
    const message = `${unverifiable} traces call tools of which only hashes of the schemas are told`
    warnings.push({ code: 'schema_unverifiable', message })
  }
  return warnings
}
