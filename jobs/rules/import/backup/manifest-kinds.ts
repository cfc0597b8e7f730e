import { freeForm } from '../../../shape.ts'
import { canonicalJson } from '../../core/canonical-json.ts'
import { messageOf } from '../../core/error-message.ts'
import { describeFault } from '../../core/reader.ts'
import type { Fault } from '../../core/reader.ts'
import { readComponents } from '../../manifests/manifest-components.ts'
import type { Members } from '../format.ts'
import { kind } from './kind.ts'
import { batchShapes } from './repair-shapes.ts'

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
  shapes: { metadata: freeForm() },
  fault: faultOfComponents,
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
  shapes: batchShapes,
  fault: faultOfRules,
  key: ['id'],
  since: 'created_at',
  without: ['job_id'],
})

export const repairFailure = kind('repair_failure', 'repair_failures', {
  members: { batch_id: 'uuid', trace_id: 'text', code: 'text' },
  key: ['batch_id', 'trace_id'],
  since: null,
})

/** Components are those that a registration may have, and none of them comes twice. */
function faultOfComponents({ components, components_count }: Members) {
  const faults: Fault[] = []
  const read = readComponents(components, faults)
  const [fault] = faults
  if (fault) return describeFault(fault)
  const isSame =
    read.length === (components as unknown[]).length && read.length === components_count
  if (!isSame) return 'components_count is not that of components, or one comes twice'
  const given = components as { readonly content_hash?: unknown }[]
  return given.every(({ content_hash }) => typeof content_hash === 'string')
    ? undefined
    : 'components have no content_hash'
}

/** A hash is shown of them. */
function faultOfRules({ rules }: Members) {
  try {
    canonicalJson(rules)
    return undefined
  } catch (error) {
    return `rules have no hash: ${messageOf(error)}`
  }
}
