import { licenseText } from '../../datasets/license.ts'
import { versionShapes } from './dataset-shapes.ts'
import { versionNumber } from './json-shapes.ts'
import { kind } from './kind.ts'

export const dataset = kind('dataset', 'datasets', {
  members: {
    project: 'project',
    id: 'uuid',
    name: 'text',
    description: 'text?',
    dataset_type: 'text',
    training_target_agent: 'text?',
    license: 'text',
    created_at: 'time',
  },
  shapes: { license: licenseText() },
  key: ['project', 'name'],
  since: 'created_at',
})

/** The definition of a version that was ready: neither its rows nor its files. Its job is not kept. */
export const datasetVersion = kind('dataset_version', 'dataset_versions', {
  members: {
    project: ['project', null],
    dataset: 'dataset',
    id: 'uuid',
    version_number: 'int',
    recipe: 'json',
    filter_hash: 'text',
    parent_version_id: 'uuid?',
    manifests: 'manifests',
    manifests_within: 'manifests_within?',
    content_hash: 'text',
    row_count: 'int',
    split_counts: 'json?',
    dropped_counts: 'json?',
    token_estimate: 'int?',
    policy: 'json?',
    losses: 'json',
    warnings: 'json',
    redaction: 'json?',
    near_duplicates: 'json',
    composition: 'json?',
    trace_months: 'json?',
    funnel: 'json?',
    lengths: 'json?',
    created_by: 'uuid?',
    created_at: 'time',
    ready_at: 'time',
  },
  key: ['project', 'dataset', 'version_number'],
  since: 'ready_at',
  shapes: { ...versionShapes, version_number: versionNumber() },
  without: ['job_id', 'streams', 'restored'],
})
