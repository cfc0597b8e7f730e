import { randomUUIDv7 } from 'node:crypto'
import { shape, text, textReference } from '../../jobs/shape.ts'
import { findProject, findWorkspace } from '../../sql/org/organizations.ts'
import { insertProject } from '../../sql/org/workspaces.ts'
import { audit } from '../audit.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflictWith, notFound } from '../errors.ts'
import { conflictBody, errorBody, EXAMPLE_ID } from '../fields.ts'
import { refuseIdAsName } from '../projects.ts'
import { projectBody } from './project.ts'

export const createProject = endpoint('POST', '/projects', {
  summary: 'Create a project in a workspace',
  description:
    'Names are unique in the organization, because clients name a project without its workspace.',
  access: 'global-admin',
  body: shape({ name: text(128).min(1), workspace_id: textReference() })
    .label('ProjectRequest')
    .example({ name: 'checkout', workspace_id: EXAMPLE_ID }),
  answers: { 201: projectBody, 404: errorBody, 409: conflictBody },
  async handle({ context, principal, body: { name, workspace_id } }) {
    refuseIdAsName(name)
    const workspace = await findWorkspace(context.sql, principal.orgId, workspace_id)
    if (!workspace) throw notFound('Workspace')
    const made = await context.sql.begin(async (tx) => {
      const wanted = { id: randomUUIDv7(), workspace_id: workspace.id, name }
      const project = await insertProject(tx, principal.orgId, wanted)
      if (project) await audit(tx, principal, 'project.created', project.id, { name })
      return project
    })
    if (made) return new Answer(201, made)
    const taken = await findProject(context.sql, principal.orgId, name)
    throw conflictWith('The project name is taken', {
      type: 'project',
      id: String(taken?.id),
      name,
    })
  },
})
