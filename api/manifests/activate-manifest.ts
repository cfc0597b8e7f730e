import Joi from 'joi'
import { shape, uuid } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/db.ts'
import { activateManifest } from '../../sql/manifest-activations.ts'
import { findManifest, lockAgent } from '../../sql/manifests.ts'
import type { ManifestRow } from '../../sql/manifests.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable } from '../fields.ts'
import { findVisibleManifest } from './find-manifest.ts'
import { listedManifestBody, showManifest } from './manifest-fields.ts'

const activatedBody = listedManifestBody
  .fork('traces_count', (schema) => schema.forbidden())
  .keys({
    compatibility_report_id: nullable(Joi.string().guid()).description(
      'Null when it was the active version already, or nothing was active',
    ),
  })
  .label('ActivatedManifest')

export const activateManifestOperation = endpoint('POST', '/manifests/{manifest_id}/activate', {
  area: 'manifests',
  summary: 'Make a draft or an older version the active one',
  description: 'Does nothing to the version that is active already.',
  access: 'key',
  params: shape({ manifest_id: uuid() }),
  answers: { 200: activatedBody, 404: errorBody },
  async handle({ context, principal, params }) {
    const { orgId, keyId } = principal
    const found = await findVisibleManifest(context, principal, params.manifest_id)
    const agent = { orgId, projectId: found.project_id, agentName: found.agent_name }
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      await lockAgent(tx, agent)
      const read = async () => (await findManifest(tx, orgId, found.id)) as ManifestRow
      const manifest = await read()
      const occasion = { queue: context.queue, createdBy: keyId, now: context.now() }
      const isActive = manifest.status === 'active'
      const report = isActive ? null : await activateManifest(tx, agent, manifest, occasion)
      return { ...showManifest(await read()), compatibility_report_id: report }
    })
  },
})
