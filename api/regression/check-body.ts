import Joi from 'joi'
import { CHANGE_TYPES } from '../../jobs/rules/manifests/surface-change.ts'
import { CHECK_VERDICTS } from '../../jobs/rules/regression/check-findings.ts'
import { listOf } from '../../jobs/shape.ts'
import { nullable, times } from '../fields.ts'

const count = Joi.number().integer().required()
const words = listOf(Joi.string()).required()
const risk = Joi.string().valid('high', 'medium', 'low')

const evalCounts = {
  passing_affected: count.description('Affected traces whose scores pass'),
  failing_affected: count,
  unscored_affected: count,
}

const diffSummaryBody = Joi.object({
  total_changes: count,
  high_severity_changes: count,
  medium_severity_changes: count,
  low_severity_changes: count,
  changes: listOf(
    Joi.object({
      type: Joi.string()
        .valid(...CHANGE_TYPES)
        .required(),
      name: Joi.string().required(),
      severity: risk.required().description('By structure, whatever the traffic'),
      detail: Joi.object().unknown(true).required(),
    }).label('CheckedChange'),
  ).required(),
  first_run: Joi.boolean(),
}).label('DiffSummary')

const downstreamBody = Joi.object({
  evaluators: Joi.object({
    stale_count: count.description('Evaluators that scored traces which use what has changed'),
    sample_evaluator_names: words,
    surfaces_causing_staleness: words,
  })
    .required()
    .label('StaleEvaluators'),
  datasets: Joi.object({
    affected_dataset_version_count: count.description('Current versions of datasets'),
    sample_dataset_names: words,
    total_rows_invalidated: count.description('Rows of traces that cannot stay as they are'),
  })
    .required()
    .label('AffectedDatasets'),
  subagents: Joi.object({
    broken_handoffs: listOf(
      Joi.object({
        subagent_name: Joi.string().required(),
        surface_diff: Joi.object().unknown(true).required(),
      }).label('BrokenHandoff'),
    ).required(),
  })
    .required()
    .label('AffectedSubagents'),
  skills: Joi.object({
    affected_agent_count: count.description('Other agents whose active version has the skills'),
    sample_agent_names: words,
    skills_changed: words,
  })
    .required()
    .label('AffectedSkills'),
}).label('DownstreamImpact')

const metricBody = Joi.object({
  metric: Joi.string().required(),
  gating: Joi.boolean().required(),
  design: Joi.string().valid('paired_replay', 'stratified', 'unpaired').required(),
  n_baseline: count,
  n_candidate: count,
  clusters: listOf(Joi.number().integer())
    .required()
    .description('Tasks, else sessions, else traces, of the baseline and of the candidate'),
  mean_baseline: Joi.number().required(),
  mean_candidate: Joi.number().required(),
  delta: Joi.number().required(),
  ci: nullable(listOf(Joi.number())),
  p_value: nullable(Joi.number()),
  q_value: nullable(Joi.number()),
  raw_delta: Joi.number().required(),
  mde: nullable(Joi.number()).description(
    'The smallest change this traffic could have shown with a power of .8',
  ),
  needed_n: nullable(Joi.number().integer()),
  verdict: Joi.string().valid('regressed', 'improved', 'pass', 'inconclusive').required(),
  trace_sample_ids: words,
}).label('MetricCheck')

const verdictsBody = Joi.object({
  keep: count,
  repair: count,
  replay: count,
  drop: count,
}).label('CompatVerdicts')

const impactBody = Joi.object({
  id: Joi.string().required(),
  surface_change_type: Joi.string()
    .valid(...CHANGE_TYPES)
    .required(),
  surface_name: Joi.string().required(),
  severity: risk.required(),
  affected_trace_count: count,
  verdicts: verdictsBody.description('What the change alone asks of those traces'),
  sample_trace_ids: words,
  explanation: Joi.string().required(),
  eval_breakdown: Joi.object(evalCounts).required().label('EvalCounts'),
}).label('SurfaceImpact')

export const callReplayBody = Joi.object({
  status: Joi.string().valid('ok', 'no_model_change', 'unsupported', 'no_calls').required(),
  message: Joi.string().required(),
  mode: Joi.string().valid('mock', 'real').required(),
  provider: nullable(Joi.string()),
  target_model: nullable(Joi.string()),
  baseline_model: nullable(Joi.string()),
  per_trace: Joi.string().required().description('A sentence about `traces`'),
  traces: listOf(Joi.object().unknown(true).label('ReplayedTrace')).required(),
  summary: Joi.object({
    replayed: count,
    equivalent: count,
    changed: count,
    errors: count,
    samples: listOf(Joi.object().unknown(true).label('ReplayedCall')).required(),
  })
    .required()
    .label('CallReplaySummary'),
}).label('CallReplay')

/** 503: there is no verdict. */
export const noReportBody = Joi.object({
  detail: Joi.string().required(),
  code: Joi.string()
    .required()
    .description('`still_running`: ask again. `check_failed`, `unavailable`: there is no report'),
  request_id: Joi.string().required(),
  job_id: Joi.string().guid(),
  id: Joi.string().guid().description('Of the check; not in a dry run'),
}).label('NoReport')

/** Members that are not known yet are null until the check is complete. */
export const checkBody = Joi.object({
  id: Joi.string().guid().description('Not in a dry run'),
  project_id: Joi.string().guid().required(),
  agent_name: Joi.string().required(),
  baseline_manifest_id: nullable(Joi.string().guid()),
  candidate_manifest_id: Joi.string().guid().required(),
  status: Joi.string().valid('completed', 'running', 'failed').required(),
  verdict: nullable(Joi.string().valid(...CHECK_VERDICTS)),
  verdict_message: nullable(Joi.string()),
  structural_severity: nullable(risk),
  human_summary: nullable(Joi.string()),
  high_risk_count: nullable(Joi.number().integer()).description(
    'Affected traces whose worst change is of this severity',
  ),
  medium_risk_count: nullable(Joi.number().integer()),
  low_risk_count: nullable(Joi.number().integer()),
  total_traces_analyzed: nullable(Joi.number().integer()),
  diff_summary: nullable(diffSummaryBody),
  pr_context: nullable(Joi.object().unknown(true)),
  error_message: nullable(Joi.string()),
  created_at: times.required(),
  eval_verdict: nullable(
    Joi.string().valid('clean', 'expected_impact', 'regression_likely', 'first_run'),
  ).description(
    'regression_likely: scores dropped, or a high severity hits passing traces; clean: no trace is affected',
  ),
  eval_breakdown: nullable(
    Joi.object({ ...evalCounts, eval_capped: Joi.boolean().required() }).label(
      'ImpactEvalBreakdown',
    ),
  ),
  downstream_impact: nullable(downstreamBody),
  call_replay: nullable(callReplayBody),
  source: nullable(Joi.string()),
  baseline_manifest_label: nullable(Joi.string()),
  baseline_manifest_hash: nullable(Joi.string()),
  candidate_manifest_label: Joi.string().required(),
  candidate_manifest_hash: Joi.string().required(),
  human_decision: nullable(Joi.string().valid('accepted', 'rejected')),
  impacts: nullable(listOf(impactBody)),
  compat_summary: nullable(verdictsBody),
  verdicts_by_score: nullable(
    Joi.object({
      passing: verdictsBody.required(),
      failing: verdictsBody.required(),
      unscored: verdictsBody.required(),
    }).label('CompatVerdictsByScore'),
  ).description('What the candidate asks of the traces, by what their scores say of them'),
  affected_trace_count: nullable(Joi.number().integer()),
  metrics: nullable(listOf(metricBody)),
  warnings: nullable(
    listOf(
      Joi.object({ code: Joi.string().required(), message: Joi.string().required() }).label(
        'CheckWarning',
      ),
    ),
  ),
  data_fingerprint: nullable(Joi.string()),
  decision_note: nullable(Joi.string()),
  decided_at: nullable(times),
  job_id: nullable(Joi.string().guid()).description('Null for a finished dry run'),
}).label('ImpactReport')
