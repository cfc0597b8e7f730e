import Joi from 'joi'
import type { Transaction } from '../../sql/core/db.ts'
import * as activation from '../../sql/transactions/activate-manifest.ts'
import { lockAgent } from '../../sql/manifests/manifests.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable } from '../fields.ts'
import {
  findVisibleManifest,
  listedManifestBody,
  manifestPath,
  readManifest,
  viewManifest,
} from './manifest.ts'

const activatedBody = listedManifestBody
  .fork('traces_count', (schema) => schema.forbidden())
  .keys({
    compatibility_report_id: nullable(Joi.string().guid()).description(
      'Null when it was the active version already, or nothing was active',
    ),
  })
  .label('ActivatedManifest')

export const activateManifest = endpoint('POST', '/manifests/{manifest_id}/activate', {
  summary: 'Make a draft or an older version the active one',
  description: 'Does nothing to the version that is active already.',
  access: 'key',
  params: manifestPath,
  answers: { 200: activatedBody, 404: errorBody },
  async handle({ context, principal, params }) {
    const { orgId, keyId } = principal
    const found = await findVisibleManifest(context, principal, params.manifest_id)
    const agent = { orgId, projectId: found.project_id, agentName: found.agent_name }
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      await lockAgent(tx, agent)
      const manifest = await readManifest(tx, orgId, found.id)
      const occasion = { createdBy: keyId, now: context.now() }
      const { status } = manifest
      const kind = status === 'draft' ? 'activated' : 'reactivated'
      const report =
        status === 'active'
          ? null
          : await activation.activateManifest(
              tx,
              context.queue,
              { agent, manifest, kind },
              occasion,
            )
      return { ...viewManifest(manifest), status: 'active', compatibility_report_id: report }
    })
  },
})
