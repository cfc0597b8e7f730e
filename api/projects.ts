import { randomUUIDv7 } from 'node:crypto'
import type { Queryable } from '../sql/db.ts'
import {
  findOldestProject,
  findProject,
  findWorkspace,
  listProjectIds,
  upsertProject,
} from '../sql/organizations.ts'
import type { ProjectRow } from '../sql/organizations.ts'
import { audit } from './audit.ts'
import { forbidden, notFound, validationError } from './errors.ts'
import type { Principal } from './principal.ts'

/**
 * The projects a read looks into: the one named, else all the caller may see; null stands for all of
 * the organization.
 * @throws ApiError 404 for a name the caller cannot see, 403 where a project key names another project
 */
export async function readableProjects(
  sql: Queryable,
  principal: Principal,
  named: string | undefined,
): Promise<readonly string[] | null> {
  if (named !== undefined) return [(await findReadable(sql, principal, named)).id]
  if (principal.scope === 'project') return [principal.projectId as string]
  if (principal.scope === 'workspace') {
    return listProjectIds(sql, principal.orgId, principal.workspaceId as string)
  }
  return null
}

/**
 * The one project a read of a project's settings is about: the one named, else the key's own, else the
 * default one, as for a write.
 * @throws ApiError as `readableProjects`, and 404 where a workspace has no project yet
 */
export async function readableProject(
  sql: Queryable,
  principal: Principal,
  named: string | undefined,
): Promise<string> {
  const { orgId, scope, workspaceId } = principal
  if (named !== undefined) return (await findReadable(sql, principal, named)).id
  const found = await findProject(sql, orgId, principal.projectId ?? 'default')
  if (found && (scope !== 'workspace' || found.workspace_id === workspaceId)) return found.id
  const oldest = workspaceId === null ? undefined : await findOldestProject(sql, orgId, workspaceId)
  if (!oldest) throw notFound('Project')
  return oldest.id
}

/** Whether the caller may see what belongs to a project. */
export function maySee(projectIds: readonly string[] | null, projectId: string | null) {
  return projectIds === null || (projectId !== null && projectIds.includes(projectId))
}

/**
 * The project a write goes to: the one named, which a global or workspace key thereby creates when
 * there is none of that name; else the key's own; else the default one. Give it the transaction that
 * writes, so that nothing is left of a project when the write fails.
 * @throws ApiError 403 for a project the caller may not use, 404 for an id that is none
 */
export async function writableProject(
  sql: Queryable,
  principal: Principal,
  named: string | undefined,
): Promise<ProjectRow> {
  const { orgId } = principal
  const found = await findProject(sql, orgId, named ?? principal.projectId ?? 'default')
  if (named === undefined && principal.scope === 'workspace') {
    const workspaceId = principal.workspaceId as string
    if (found?.workspace_id === workspaceId) return found
    return (
      (await findOldestProject(sql, orgId, workspaceId)) ??
      (await createProject(sql, principal, `default-${workspaceId}`))
    )
  }
  if (found) {
    if (!mayUse(principal, found)) throw forbidden('This API key may not use the project it names')
    return found
  }
  if (principal.scope === 'project') {
    throw forbidden('This API key may not use the project it names')
  }
  return createProject(sql, principal, named ?? 'default')
}

/**
 * Where a project or workspace is named by id or by name, no name may pass for an id.
 * @throws ApiError 422
 */
export function refuseIdAsName(name: string) {
  if (!UUID.test(name)) return
  throw validationError([{ field: 'body.name', message: 'name must not look like an id' }])
}

async function createProject(sql: Queryable, principal: Principal, name: string) {
  if (UUID.test(name)) throw notFound('Project')
  const workspaceId =
    principal.workspaceId ?? (await findWorkspace(sql, principal.orgId, 'default'))?.id
  if (!workspaceId) throw notFound('Workspace')
  const id = randomUUIDv7()
  const project = await upsertProject(sql, principal.orgId, { id, workspace_id: workspaceId, name })
  // Another request may have made it at the same moment.
  if (project.id === id) await audit(sql, principal, 'project.created', id, { name })
  if (!mayUse(principal, project)) throw forbidden('This API key may not use the project it names')
  return project
}

async function findReadable(sql: Queryable, principal: Principal, named: string) {
  const project = await findProject(sql, principal.orgId, named)
  if (project && mayUse(principal, project)) return project
  if (principal.scope === 'project') {
    throw forbidden('This API key may not use the project it names')
  }
  throw notFound('Project')
}

function mayUse({ scope, workspaceId, projectId }: Principal, project: ProjectRow) {
  if (scope === 'project') return project.id === projectId
  return scope === 'global' || project.workspace_id === workspaceId
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
