import { listComponents } from '../../sql/manifests/manifest-components.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { findVisibleManifest, manifestBody, manifestPath, viewManifest } from './manifest.ts'

export const showManifest = endpoint('GET', '/manifests/{manifest_id}', {
  summary: 'Read a manifest with its components',
  access: 'key',
  params: manifestPath,
  answers: { 200: manifestBody, 404: errorBody },
  async handle({ context, principal, params }) {
    const row = await findVisibleManifest(context, principal, params.manifest_id)
    return {
      ...viewManifest(row),
      contract_hash: row.contract_hash,
      is_closed_world: row.is_closed_world,
      metadata: row.metadata,
      components: await listComponents(context.sql, principal.orgId, row.id),
    }
  },
})
