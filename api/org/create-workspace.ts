import { randomUUIDv7 } from 'node:crypto'
import { shape, text } from '../../jobs/shape.ts'
import { findWorkspace } from '../../sql/org/organizations.ts'
import { insertWorkspace } from '../../sql/org/workspaces.ts'
import { audit } from '../audit.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflictWith } from '../errors.ts'
import { conflictBody } from '../fields.ts'
import { refuseIdAsName } from '../projects.ts'
import { workspaceBody } from './workspace.ts'

export const createWorkspace = endpoint('POST', '/workspaces', {
  summary: 'Create a workspace',
  access: 'global-admin',
  body: shape({ name: text(128).min(1) })
    .label('WorkspaceRequest')
    .example({ name: 'research' }),
  answers: { 201: workspaceBody, 409: conflictBody },
  async handle({ context, principal, body: { name } }) {
    refuseIdAsName(name)
    const made = await context.sql.begin(async (tx) => {
      const workspace = await insertWorkspace(tx, principal.orgId, { id: randomUUIDv7(), name })
      if (workspace) await audit(tx, principal, 'workspace.created', workspace.id, { name })
      return workspace
    })
    if (made) return new Answer(201, made)
    const taken = await findWorkspace(context.sql, principal.orgId, name)
    throw conflictWith('The workspace name is taken', {
      type: 'workspace',
      id: String(taken?.id),
      name,
    })
  },
})
