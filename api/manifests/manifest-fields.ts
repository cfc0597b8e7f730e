import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import { COMPONENT_TYPES } from '../../jobs/rules/manifest.ts'
import { CHANGE_TYPES } from '../../jobs/rules/surface-change.ts'
import type { SurfaceChange } from '../../jobs/rules/surface-change.ts'
import { versionLabel } from '../../sql/manifests.ts'
import type { ManifestRow } from '../../sql/manifests.ts'
import { nullable, times } from '../fields.ts'

export const MANIFEST_STATUSES = ['draft', 'active', 'superseded'] as const

const manifestFields = {
  id: Joi.string().guid().required(),
  manifest_id: Joi.string().guid().required(),
  project_id: Joi.string().guid().required(),
  agent_name: Joi.string().required(),
  version_label: Joi.string().required().description('v<N>, in order of registration'),
  display_label: nullable(Joi.string()).description('The label the client gave'),
  manifest_hash: Joi.string().required(),
  parent_manifest_id: nullable(Joi.string().guid()),
  status: Joi.string()
    .valid(...MANIFEST_STATUSES)
    .required(),
  detection_source: nullable(Joi.string()),
  components_count: Joi.number().integer().required(),
  created_at: times.required(),
}

export const listedManifestBody = Joi.object({
  ...manifestFields,
  traces_count: Joi.number().integer().required(),
}).label('ListedManifest')

const componentBody = Joi.object({
  component_type: Joi.string()
    .valid(...COMPONENT_TYPES)
    .required(),
  component_name: Joi.string().required(),
  component_version: nullable(Joi.string()),
  content_hash: Joi.string().required(),
  schema_json: Joi.object().unknown(true).required(),
}).label('ManifestComponent')

export const manifestBody = Joi.object({
  ...manifestFields,
  contract_hash: Joi.string().required().description('SHA-256 over all components'),
  is_closed_world: Joi.boolean().required(),
  metadata: Joi.object().unknown(true).required(),
  components: listOf(componentBody).required(),
}).label('Manifest')

export const changedSurfaceBody = Joi.object({
  surface: Joi.string().required().description('<component_type>:<component_name>'),
  component_type: Joi.string()
    .valid(...COMPONENT_TYPES)
    .required(),
  component_name: Joi.string().required(),
  new_name: nullable(Joi.string()),
  change_type: Joi.string()
    .valid(...CHANGE_TYPES)
    .required(),
  state: Joi.string().valid('doc_only', 'changed', 'added', 'removed', 'renamed').required(),
  severity: Joi.string().valid('minor', 'moderate', 'major').required(),
  breaking: Joi.boolean().required(),
  details: listOf(Joi.object().unknown(true).label('ChangeDetail')).required(),
}).label('ChangedSurface')

export function showManifest(row: ManifestRow) {
  return {
    id: row.id,
    manifest_id: row.id,
    project_id: row.project_id,
    agent_name: row.agent_name,
    version_label: versionLabel(row),
    display_label: row.display_label,
    manifest_hash: row.shown_hash,
    parent_manifest_id: row.parent_manifest_id,
    status: row.status,
    detection_source: row.detection_source,
    components_count: row.components_count,
    created_at: row.created_at,
  }
}

/** How many changes there are of each state and severity, and how many break something. */
export function summarizeChanges(changes: readonly SurfaceChange[]) {
  const count = (is: (change: SurfaceChange) => boolean) => changes.filter(is).length
  const ofState = (state: SurfaceChange['state']) => count((change) => change.state === state)
  const ofSeverity = (severity: SurfaceChange['severity']) =>
    count((change) => change.severity === severity && change.state !== 'doc_only')
  return {
    total: changes.length,
    added: ofState('added'),
    removed: ofState('removed'),
    renamed: ofState('renamed'),
    changed: ofState('changed'),
    doc_only: ofState('doc_only'),
    breaking: count(({ breaking }) => breaking),
    major: ofSeverity('major'),
    moderate: ofSeverity('moderate'),
    minor: ofSeverity('minor'),
  }
}
