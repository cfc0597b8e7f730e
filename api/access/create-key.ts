import Joi from 'joi'
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { oneOf, shape, text, textReference, time } from '../../jobs/shape.ts'
import { LIVE_KEYS, PLANS } from '../../jobs/rules/org/plan.ts'
import { keyCreatedMail } from '../../jobs/rules/org/alert-mail.ts'
import type { AlertedKey } from '../../jobs/rules/org/alert-mail.ts'
import { displayPrefix, hashKey, makeKey } from '../../jobs/rules/access/api-key.ts'
import { sendAlertMail } from '../../jobs/send-alert-mail.ts'
import { insertKey, refuseKey } from '../../sql/access/api-keys.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { insertMail } from '../../sql/org/mails.ts'
import { findProject, findWorkspace } from '../../sql/org/organizations.ts'
import { audit } from '../audit.ts'
import type { ApiContext } from '../context.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { ApiError, badRequest, notFound, validationError } from '../errors.ts'
import { errorBody } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { keyFields } from './key.ts'

export const createKey = endpoint('POST', '/api-keys', {
  summary: 'Create an API key',
  description: `The raw key is in this answer only; the server keeps its SHA-256. By plan an organization has at most ${PLANS.map((plan) => `${LIVE_KEYS[plan]} (${plan})`).join(', ')} keys that are neither revoked nor expired; beyond, 409 with code too_many_keys.`,
  access: 'global-admin',
  body: shape(
    { label: text(128).min(1), scope: oneOf('global', 'workspace', 'project') },
    {
      workspace_id: textReference(),
      project_id: textReference(),
      permissions: oneOf('read', 'write', 'admin').default('admin'),
      expires_at: time(),
    },
  )
    .label('ApiKeyRequest')
    .example({ label: 'ci', scope: 'global', permissions: 'read' }),
  answers: {
    201: Joi.object({ raw_key: Joi.string().required(), ...keyFields }).label('CreatedApiKey'),
    404: errorBody,
    409: errorBody,
  },
  async handle({ context, principal, body }) {
    const expires = body.expires_at ?? null
    if (expires && expires <= context.now()) {
      throw validationError([{ field: 'body.expires_at', message: 'is in the past' }])
    }
    const within = await readScope(context, principal, body)
    const raw = makeKey(context.keyPrefix, randomBytes(64))
    const key = {
      id: randomUUIDv7(),
      org_id: principal.orgId,
      key_prefix: displayPrefix(context.keyPrefix, raw),
      label: body.label,
      scope: body.scope,
      ...within,
      permissions: body.permissions,
      expires_at: expires,
    }
    const created_at = await context.queue.transaction(context.sql, async (tx: Transaction) => {
      const refusal = await refuseKey(tx, principal.orgId)
      if (refusal) throw new ApiError(409, 'too_many_keys', refusal)
      const at = await insertKey(tx, { ...key, key_hash: hashKey(raw) })
      const { id, label, scope, permissions, key_prefix } = key
      await audit(tx, principal, 'api_key.created', id, { label, scope, permissions, key_prefix })
      await alertBillingContact(context, tx, principal, key, at)
      return at
    })
    const { org_id: _, ...shown } = key
    return new Answer(201, { raw_key: raw, ...shown, created_at }, { 'Cache-Control': 'no-store' })
  },
})

async function alertBillingContact(
  { queue }: ApiContext,
  tx: Transaction,
  { orgId, orgName, keyLabel }: Principal,
  key: AlertedKey,
  at: Date,
) {
  const mail = { id: randomUUIDv7(), ...keyCreatedMail(orgName, key, keyLabel, at) }
  if (!(await insertMail(tx, orgId, mail))) return
  await queue.enqueue(tx, sendAlertMail, { mail_id: mail.id }, { orgId, key: mail.id })
}

/** The workspace or project that the key is limited to; it must belong to the caller's organization. */
async function readScope(
  { sql }: ApiContext,
  { orgId }: Principal,
  body: { scope: string; workspace_id?: string | undefined; project_id?: string | undefined },
) {
  if (body.scope === 'workspace') {
    if (body.workspace_id === undefined)
      throw badRequest('A workspace-scoped key needs workspace_id')
    const workspace = await findWorkspace(sql, orgId, body.workspace_id)
    if (!workspace) throw notFound('Workspace')
    return { workspace_id: workspace.id, project_id: null }
  }
  if (body.scope === 'project') {
    if (body.project_id === undefined) throw badRequest('A project-scoped key needs project_id')
    const project = await findProject(sql, orgId, body.project_id)
    if (!project) throw notFound('Project')
    return { workspace_id: project.workspace_id, project_id: project.id }
  }
  return { workspace_id: null, project_id: null }
}
