import { shape, uuid } from '../../jobs/shape.ts'
import { listComponents } from '../../sql/manifests.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { findVisibleManifest } from './find-manifest.ts'
import { manifestBody, showManifest } from './manifest-fields.ts'

export const showManifestOperation = endpoint('GET', '/manifests/{manifest_id}', {
  area: 'manifests',
  summary: 'Read a manifest with its components',
  access: 'key',
  params: shape({ manifest_id: uuid() }),
  answers: { 200: manifestBody, 404: errorBody },
  async handle({ context, principal, params }) {
    const row = await findVisibleManifest(context, principal, params.manifest_id)
    return {
      ...showManifest(row),
      contract_hash: row.contract_hash,
      is_closed_world: row.is_closed_world,
      metadata: row.metadata,
      components: await listComponents(context.sql, principal.orgId, row.id),
    }
  },
})
