import { kind } from './kind.ts'

export const manifest = kind('manifest', 'manifests', {
  members: {
    project: 'project',
    id: 'uuid',
    agent_name: 'text',
    version_number: 'int',
    display_label: 'text?',
    manifest_hash: 'text',
    shown_hash: 'text',
    contract_hash: 'text',
    parent_manifest: 'manifest?',
    status: 'text',
    detection_source: 'text?',
    is_closed_world: 'boolean',
    is_held: 'boolean',
    components: 'components',
    components_count: 'int',
    metadata: 'json',
    created_by: 'uuid?',
    created_at: 'time',
  },
  key: ['project', 'agent_name', 'manifest_hash'],
  order: ['project', 'agent_name', 'version_number'],
  since: 'created_at',
})

export const manifestActivation = kind('manifest_activation', 'manifest_activations', {
  members: {
    project: 'project',
    agent_name: 'text',
    ordinal: 'int',
    // `kind` is what every line begins with.
    activation: ['text', 'kind'],
    manifest: 'manifest',
    previous_manifest: 'manifest?',
    activated_at: 'time',
    created_by: 'uuid?',
  },
  key: ['project', 'agent_name', 'ordinal'],
  since: 'activated_at',
})

/** Kept, so that a drift which was announced is not announced again. */
export const subagentDrift = kind('subagent_drift', 'subagent_drifts', {
  members: {
    project: 'project',
    agent_name: 'text',
    subagent_name: 'text',
    observed_hash: 'text',
    expected_hash: 'text',
    manifest: 'manifest',
    trace_sample_ids: 'texts',
    detected_at: 'time',
  },
  key: ['project', 'agent_name', 'subagent_name', 'observed_hash'],
  since: 'detected_at',
})

/** Revisions of traces name the batch that made them. Its job is not kept. */
export const repairBatch = kind('repair_batch', 'repair_batches', {
  members: {
    project: 'project',
    id: 'uuid',
    old_manifest: 'manifest',
    new_manifest: 'manifest',
    rule_indices: 'ints?',
    rules: 'json',
    rule_counts: 'json',
    engine_version: 'text',
    repaired_count: 'int',
    skipped_count: 'int',
    failed_count: 'int',
    created_by: 'uuid?',
    created_at: 'time',
    completed_at: 'time?',
  },
  key: ['id'],
  since: 'created_at',
  without: ['job_id'],
})

export const repairFailure = kind('repair_failure', 'repair_failures', {
  members: { batch_id: 'uuid', trace_id: 'text', code: 'text' },
  key: ['batch_id', 'trace_id'],
  since: null,
})
