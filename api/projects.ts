import { randomUUIDv7 } from 'node:crypto'
import { order } from '../jobs/rules/core/order.ts'
import { isName } from '../jobs/rules/core/reader.ts'
import { isUuid } from '../jobs/rules/core/uuid.ts'
import type { Queryable } from '../sql/core/db.ts'
import {
  findOldestProject,
  findProject,
  findWorkspace,
  listProjectIds,
  upsertProject,
} from '../sql/org/organizations.ts'
import type { ProjectRow } from '../sql/org/organizations.ts'
import { audit } from './audit.ts'
import { badRequest, forbidden, notFound, validationError } from './errors.ts'
import type { Principal } from './principal.ts'

/**
 * The projects that a read covers: the one named, else all that the caller may see. Null stands for all
 * projects of the organization.
 * @throws ApiError 404 for a name the caller cannot see, 403 where a project key names another project
 */
export async function readableProjects(
  sql: Queryable,
  principal: Principal,
  named: string | undefined,
): Promise<readonly string[] | null> {
  if (named !== undefined) return [(await findReadable(sql, principal, named)).id]
  if (principal.scope === 'project') return [principal.projectId]
  if (principal.scope === 'workspace') {
    return listProjectIds(sql, principal.orgId, principal.workspaceId)
  }
  return null
}

/**
 * The project whose settings a read shows: the one named, else the key's own, else the default one, as for
 * a write.
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

/** As `maySee`, of a job: of one that belongs to no project, who asked for it may see it too. */
export function maySeeWork(
  projectIds: readonly string[] | null,
  { project_id, created_by }: { project_id: string | null; created_by: string | null },
  { keyId }: Principal,
) {
  return maySee(projectIds, project_id) || (project_id === null && created_by === keyId)
}

/**
 * The project that a write goes to, as `findWritableProject` says. A global or workspace key creates one
 * that does not exist. Call it in the transaction that writes, so that no new project is left when the
 * write fails.
 * @throws ApiError as `findWritableProject`
 */
export async function writableProject(
  sql: Queryable,
  principal: Principal,
  named: string | undefined,
): Promise<ProjectRow> {
  const found = await findWritableProject(sql, principal, named)
  return found ?? createProject(sql, principal, named ?? defaultName(principal))
}

/** What a key calls a project, as a text that begins with the name that a new one gets. */
export function namingOf({ principal, project }: Naming) {
  return JSON.stringify([project || defaultName(principal), project ?? null, principal.keyId])
}

/**
 * Finds or makes the projects that several writes go to, each of them once and in one order, so that two
 * transactions that make some never wait for each other.
 * @returns what was found, by `namingOf`
 */
export async function findProjects<Write extends Naming, Found>(
  writes: readonly Write[],
  find: (write: Write) => Promise<Found>,
) {
  const named = new Map(writes.map((write) => [namingOf(write), write]))
  const found = new Map<string, Found>()
  for (const [naming, write] of [...named].sort(([a], [b]) => order(a, b))) {
    found.set(naming, await find(write))
  }
  return found
}

/**
 * The project that a write goes to: the one named, else the key's own, else the default one. Undefined
 * where a write would create it, which a dry run does not.
 * @throws ApiError 403 for a project the caller may not use, 404 for an id of no project, 400 for a text
 * that cannot be the name of a new one
 */
export async function findWritableProject(
  sql: Queryable,
  principal: Principal,
  named: string | undefined,
): Promise<ProjectRow | undefined> {
  const { orgId } = principal
  const found = await findProject(sql, orgId, named ?? principal.projectId ?? 'default')
  if (named === undefined && principal.scope === 'workspace') {
    const { workspaceId } = principal
    return found?.workspace_id === workspaceId ? found : findOldestProject(sql, orgId, workspaceId)
  }
  const isRefused = found ? !mayUse(principal, found) : principal.scope === 'project'
  if (isRefused) throw forbidden('This API key may not use the project it names')
  if (!found && named !== undefined) requireNewName(named)
  return found
}

/**
 * Refuses a name that looks like an id: clients name projects and workspaces by either.
 * @throws ApiError 422
 */
export function refuseIdAsName(name: string) {
  if (!isUuid(name)) return
  throw validationError([{ field: 'body.name', message: 'must not look like an id' }])
}

/** @throws ApiError 404 for an id, which is that of no project, 400 for a text that is no name */
function requireNewName(name: string) {
  if (isUuid(name)) throw notFound('Project')
  if (!isName(name)) throw badRequest('The name of a new project is 1 to 256 printable characters')
}

/** Names are unique in the organization, and the name `default` belongs to the first workspace. */
function defaultName({ workspaceId }: Principal) {
  return workspaceId === null ? 'default' : `default-${workspaceId}`
}

async function createProject(sql: Queryable, principal: Principal, name: string) {
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

/** A write to a project, which names it or leaves it to the key. */
interface Naming {
  readonly principal: Principal
  readonly project?: string | undefined
}
