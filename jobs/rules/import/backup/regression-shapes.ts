import Joi from 'joi'
import { anyText, bool, count, freeForm, listOf, oneOf, shape, uuid } from '../../../shape.ts'
import { CHECK_VERDICTS } from '../../regression/check-findings.ts'
import { orNull, share, timeText, warnings } from './json-shapes.ts'

const number = () => Joi.number()
const risk = () => oneOf('low', 'medium', 'high')
const words = () => listOf(anyText())
const verdicts = () => shape({ keep: count(), repair: count(), replay: count(), drop: count() })
const evalCounts = {
  passing_affected: count(),
  failing_affected: count(),
  unscored_affected: count(),
}

/** The report of a check: what `CheckFindings` has. Earlier releases stored less. */
const findings = shape(
  { verdict: oneOf(...CHECK_VERDICTS) },
  {
    verdict_message: anyText(),
    structural_severity: risk(),
    human_summary: anyText(),
    high_risk_count: count(),
    medium_risk_count: count(),
    low_risk_count: count(),
    total_traces_analyzed: count(),
    affected_trace_count: count(),
    diff_summary: shape(
      {
        total_changes: count(),
        high_severity_changes: count(),
        medium_severity_changes: count(),
        low_severity_changes: count(),
        changes: listOf(
          shape({ type: anyText(), name: anyText(), severity: risk(), detail: freeForm() }),
        ),
      },
      { first_run: bool() },
    ),
    compat_summary: verdicts(),
    verdicts_by_score: shape({
      passing: verdicts(),
      failing: verdicts(),
      unscored: verdicts(),
    }),
    eval_verdict: oneOf('clean', 'expected_impact', 'regression_likely', 'first_run'),
    eval_breakdown: shape(evalCounts),
    downstream_impact: shape({
      evaluators: shape({
        stale_count: count(),
        sample_evaluator_names: words(),
        surfaces_causing_staleness: words(),
      }),
      datasets: shape({
        affected_dataset_version_count: count(),
        sample_dataset_names: words(),
        total_rows_invalidated: count(),
      }),
      subagents: shape({
        broken_handoffs: listOf(shape({ subagent_name: anyText(), surface_diff: freeForm() })),
      }),
      skills: shape({
        affected_agent_count: count(),
        sample_agent_names: words(),
        skills_changed: words(),
      }),
    }),
    impacts: listOf(
      shape(
        {
          id: anyText(),
          surface_change_type: anyText(),
          surface_name: anyText(),
          severity: risk(),
          affected_trace_count: count(),
          sample_trace_ids: words(),
          explanation: anyText(),
          eval_breakdown: shape(evalCounts),
        },
        { verdicts: verdicts() },
      ),
    ),
    metrics: listOf(
      shape({
        metric: anyText(),
        gating: bool(),
        design: anyText(),
        n_baseline: count(),
        n_candidate: count(),
        clusters: listOf(count()),
        mean_baseline: number(),
        mean_candidate: number(),
        delta: number(),
        ci: orNull(listOf(number())),
        p_value: orNull(number()),
        q_value: orNull(number()),
        raw_delta: number(),
        mde: orNull(number()),
        needed_n: orNull(number()),
        verdict: anyText(),
        trace_sample_ids: words(),
      }),
    ),
    warnings: warnings(),
    data_fingerprint: anyText(),
  },
)

const callReplay = shape({
  status: oneOf('ok', 'no_model_change', 'unsupported', 'no_calls'),
  message: anyText(),
  mode: oneOf('mock', 'real'),
  provider: orNull(anyText()),
  target_model: orNull(anyText()),
  baseline_model: orNull(anyText()),
  per_trace: anyText(),
  traces: listOf(freeForm()),
  summary: shape({
    replayed: count(),
    equivalent: count(),
    changed: count(),
    errors: count(),
    samples: listOf(freeForm()),
  }),
})

export const checkShapes = { pr_context: freeForm(), findings, call_replay: callReplay }

/** What later looks at a metric are compared with. */
export const referenceShape = shape({
  n: count(),
  clusters: count(),
  mean: number(),
  variance: number().min(0),
  freedom: number().min(0),
})

export const seriesVersions = listOf(
  shape(
    {
      manifest_id: uuid(),
      version_label: anyText(),
      activated_at: timeText(),
      n: count(),
      mean: orNull(number()),
      ci95_low: orNull(number()),
      ci95_high: orNull(number()),
      pass_rate: orNull(share()),
    },
    { mde: orNull(number()) },
  ),
)
