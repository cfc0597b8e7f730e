import { kind } from './kind.ts'
import { checkShapes, referenceShape, seriesVersions } from './regression-shapes.ts'

/** A check that was completed. Its job is not kept. */
export const regressionCheck = kind('regression_check', 'regression_checks', {
  members: {
    project: 'project',
    id: 'uuid',
    agent_name: 'text',
    candidate_manifest: 'manifest',
    baseline_manifest: 'manifest?',
    trace_window_days: 'int',
    source: 'text?',
    pr_context: 'json?',
    verdict: 'text',
    findings: 'json',
    call_replay: 'json?',
    human_decision: 'text?',
    decision_note: 'text?',
    decided_by: 'uuid?',
    decided_at: 'time?',
    created_by: 'uuid?',
    created_at: 'time',
    completed_at: 'time',
  },
  shapes: checkShapes,
  key: ['id'],
  since: 'completed_at',
  without: ['job_id'],
})

export const regressionFinding = kind('regression_finding', 'regression_findings', {
  members: {
    project: 'project',
    id: 'uuid',
    agent_name: 'text',
    metric: 'text',
    ordinal: 'int',
    manifest: 'manifest?',
    version_label: 'text',
    previous_version_label: 'text?',
    candidates: 'texts',
    delta: 'float',
    relative_delta: 'float?',
    p_value: 'float',
    q_value: 'float',
    trace_sample_ids: 'texts',
    reference: 'json',
    detected_at: 'time',
    resolved_at: 'time?',
    resolution: 'text?',
    resolution_note: 'text?',
    resolved_by: 'uuid?',
  },
  shapes: { reference: referenceShape },
  key: ['project', 'agent_name', 'metric', 'ordinal'],
  order: ['id'],
  since: 'detected_at',
})

/** How often a metric was looked at, on which the significance of the next look depends. */
export const regressionSeries = kind('regression_series', 'regression_series', {
  members: {
    project: 'project',
    agent_name: 'text',
    metric: 'text',
    ordinal: 'int',
    looks: 'int',
    versions: 'json',
    manifests_within: 'manifests_within?',
    computed_at: 'time?',
  },
  shapes: { versions: seriesVersions },
  key: ['project', 'agent_name', 'metric'],
  since: null,
})

export const regressionBaseline = kind('regression_baseline', 'regression_baselines', {
  members: {
    project: 'project',
    agent_name: 'text',
    manifest: 'manifest',
    check_id: 'uuid',
    registered_at: 'time',
  },
  key: ['project', 'agent_name'],
  since: 'registered_at',
})
