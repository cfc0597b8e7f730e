import Joi from 'joi'
import { listOf, shape, uuidReference } from '../../jobs/shape.ts'
import { COMPONENT_TYPES } from '../../jobs/rules/manifests/manifest.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findStoredPair } from '../../sql/manifests/manifest-components.ts'
import { findManifest, versionLabel } from '../../sql/manifests/manifests.ts'
import type { StoredManifest } from '../../sql/manifests/manifest-components.ts'
import type { ManifestRow } from '../../sql/manifests/manifests.ts'
import { nullable, times } from '../fields.ts'
import type { ApiContext } from '../context.ts'
import { badRequest, notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { maySee, readableProjects } from '../projects.ts'

export const MANIFEST_STATUSES = ['draft', 'active', 'superseded'] as const

export const manifestPath = shape({ manifest_id: uuidReference() })

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

export function viewManifest(row: ManifestRow) {
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

/** @throws ApiError 404 for a manifest that does not exist */
export async function readManifest(sql: Queryable, orgId: string, id: string) {
  const manifest = await findManifest(sql, orgId, id)
  if (!manifest) throw notFound('Manifest')
  return manifest
}

/** @throws ApiError 404 for a manifest that does not exist and for one the caller may not see, alike */
export async function findVisibleManifest(
  { sql }: ApiContext,
  principal: Principal,
  id: string,
): Promise<ManifestRow> {
  const manifest = await readManifest(sql, principal.orgId, id)
  const visible = await readableProjects(sql, principal, undefined)
  if (!maySee(visible, manifest.project_id)) throw notFound('Manifest')
  return manifest
}

/**
 * The manifest that another one is to be compared with.
 * @throws ApiError 404 as above, 400 for a manifest of another agent
 */
export async function findComparedManifest(
  context: ApiContext,
  principal: Principal,
  { agent_name, project_id }: ManifestRow,
  id: string,
  refusal = 'The manifests belong to different agents',
): Promise<ManifestRow> {
  const manifest = await findVisibleManifest(context, principal, id)
  const isOther = manifest.agent_name !== agent_name || manifest.project_id !== project_id
  if (isOther) throw badRequest(refusal)
  return manifest
}

/** The components of two manifests that are known to be there. */
export async function findManifestPair(
  { sql }: ApiContext,
  principal: Principal,
  { before, after }: { before: ManifestRow; after: ManifestRow },
): Promise<{ before: StoredManifest; after: StoredManifest }> {
  const pair = await findStoredPair(sql, principal.orgId, before.id, after.id)
  if (!pair.before || !pair.after) throw notFound('Manifest')
  return { before: pair.before, after: pair.after }
}
