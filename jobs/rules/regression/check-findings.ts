import { noVerdicts } from '../manifests/compat-tally.ts'
import type { VerdictCounts } from '../manifests/compat-tally.ts'
import type { Risk } from '../manifests/impact.ts'
import type { MetricCheck } from './metric-check.ts'
import type { EvalStatus } from './walked-traces.ts'
import type { ChangeDetail, ChangeType } from '../manifests/surface-change.ts'

export const CHECK_VERDICTS = [
  'high_risk',
  'medium_risk',
  'low_risk',
  'no_change',
  'unverified',
  'first_run',
] as const
export type CheckVerdict = (typeof CHECK_VERDICTS)[number]

/** What the report of a check says beside who was compared, when and for whom. */
export interface CheckFindings {
  verdict: CheckVerdict
  verdict_message: string
  structural_severity: Risk | null
  human_summary: string
  /** Affected traces by the severity of the worst change that each uses. */
  high_risk_count: number
  medium_risk_count: number
  low_risk_count: number
  total_traces_analyzed: number
  affected_trace_count: number
  diff_summary: DiffSummary
  compat_summary: VerdictCounts
  /** The same by what the scores of the traces say of them. Absent in findings of an earlier release. */
  verdicts_by_score?: Record<EvalStatus, VerdictCounts>
  eval_verdict: 'clean' | 'expected_impact' | 'regression_likely' | 'first_run'
  eval_breakdown: EvalBreakdown & { eval_capped: boolean }
  downstream_impact: DownstreamImpact
  impacts: SurfaceImpact[]
  metrics: MetricCheck[]
  warnings: CheckWarning[]
  /** SHA-256 of the scores that `metrics` rests on. */
  data_fingerprint: string | null
}

/** What else rests on what has changed. */
export interface DownstreamImpact {
  evaluators: {
    stale_count: number
    sample_evaluator_names: string[]
    surfaces_causing_staleness: string[]
  }
  datasets: {
    affected_dataset_version_count: number
    sample_dataset_names: string[]
    total_rows_invalidated: number
  }
  subagents: { broken_handoffs: { subagent_name: string; surface_diff: object }[] }
  skills: { affected_agent_count: number; sample_agent_names: string[]; skills_changed: string[] }
}

/** The findings of a check that has nothing to compare with. */
export function firstRunFindings(): CheckFindings {
  const message = VERDICT_MESSAGES.first_run
  return {
    verdict: 'first_run',
    verdict_message: message,
    structural_severity: null,
    human_summary: message,
    high_risk_count: 0,
    medium_risk_count: 0,
    low_risk_count: 0,
    total_traces_analyzed: 0,
    affected_trace_count: 0,
    diff_summary: { ...NO_CHANGES, first_run: true },
    compat_summary: noVerdicts(),
    verdicts_by_score: { passing: noVerdicts(), failing: noVerdicts(), unscored: noVerdicts() },
    eval_verdict: 'first_run',
    eval_breakdown: { ...NOTHING_AFFECTED, eval_capped: false },
    downstream_impact: NO_DOWNSTREAM,
    impacts: [],
    metrics: [],
    warnings: [],
    data_fingerprint: null,
  }
}

/** A sentence for people about each verdict. */
export const VERDICT_MESSAGES: Readonly<Record<CheckVerdict, string>> = {
  high_risk: 'The candidate breaks what recorded traffic uses, or is worse than the baseline',
  medium_risk: 'The candidate changes what recorded traffic uses in a way that may break it',
  low_risk: 'The candidate changes nothing that recorded traffic is known to break on',
  no_change: 'The candidate has the structure of the baseline, and no confirmed drop',
  unverified:
    'The candidate has changed, and no recorded trace in the window tells what that affects',
  first_run: 'There is no baseline yet: the candidate is what later checks compare with',
}

const NO_DOWNSTREAM: DownstreamImpact = {
  evaluators: { stale_count: 0, sample_evaluator_names: [], surfaces_causing_staleness: [] },
  datasets: {
    affected_dataset_version_count: 0,
    sample_dataset_names: [],
    total_rows_invalidated: 0,
  },
  subagents: { broken_handoffs: [] },
  skills: { affected_agent_count: 0, sample_agent_names: [], skills_changed: [] },
}

const NOTHING_AFFECTED: EvalBreakdown = {
  passing_affected: 0,
  failing_affected: 0,
  unscored_affected: 0,
}

const NO_CHANGES: DiffSummary = {
  total_changes: 0,
  high_severity_changes: 0,
  medium_severity_changes: 0,
  low_severity_changes: 0,
  changes: [],
}

export interface EvalBreakdown {
  passing_affected: number
  failing_affected: number
  unscored_affected: number
}

export interface SurfaceImpact {
  id: string
  surface_change_type: ChangeType
  surface_name: string
  severity: Risk
  affected_trace_count: number
  /** What the change alone asks of those traces. Absent in findings of an earlier release. */
  verdicts?: VerdictCounts
  sample_trace_ids: string[]
  explanation: string
  eval_breakdown: EvalBreakdown
}

export interface DiffSummary {
  total_changes: number
  high_severity_changes: number
  medium_severity_changes: number
  low_severity_changes: number
  changes: {
    type: ChangeType
    name: string
    severity: Risk
    detail: { new_name: string | null; breaking: boolean; details: readonly ChangeDetail[] }
  }[]
  first_run?: boolean
}

export interface CheckWarning {
  code: string
  message: string
}
