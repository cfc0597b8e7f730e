import type { Queryable } from '../core/db.ts'
import { countUpTo, isOlder } from '../core/pages.ts'
import type { AgeKey } from '../core/pages.ts'

export interface WorkspaceRow {
  id: string
  name: string
  created_at: Date
}

export interface ListedProject extends WorkspaceRow {
  workspace_id: string
}

/** What a caller may see of an organization; null sees all. */
export interface Visible {
  readonly workspaceId: string | null
  readonly projectId: string | null
}

export interface Page {
  readonly limit: number
  readonly offset: number
  readonly before: AgeKey | undefined
}

/** Undefined when the name is taken. */
export async function insertWorkspace(
  sql: Queryable,
  orgId: string,
  workspace: { id: string; name: string },
) {
  const [row] = await sql<WorkspaceRow[]>`
    insert into workspaces (org_id, id, name) values (${orgId}, ${workspace.id}, ${workspace.name})
    on conflict (org_id, name) do nothing
    returning id, name, created_at`
  return row
}

/** Undefined when the name is taken, by a project of whatever workspace. */
export async function insertProject(
  sql: Queryable,
  orgId: string,
  project: { id: string; workspace_id: string; name: string },
) {
  const [row] = await sql<ListedProject[]>`
    insert into projects (org_id, id, workspace_id, name)
    values (${orgId}, ${project.id}, ${project.workspace_id}, ${project.name})
    on conflict (org_id, name) do nothing
    returning id, workspace_id, name, created_at`
  return row
}

/** Newest first. */
export async function listWorkspaces(sql: Queryable, orgId: string, visible: Visible, page: Page) {
  return sql<WorkspaceRow[]>`
    select id, name, created_at from workspaces
    where ${workspacesOf(sql, orgId, visible)}
      ${isOlder(sql, sql`(created_at, id)`, page.before)}
    order by created_at desc, id desc limit ${page.limit} offset ${page.offset}`
}

/** Counted no further than `limit`. */
export async function countWorkspaces(
  sql: Queryable,
  orgId: string,
  visible: Visible,
  limit: number,
) {
  return countUpTo(sql, limit, sql`workspaces where ${workspacesOf(sql, orgId, visible)}`)
}

/** Newest first. */
export async function listProjects(sql: Queryable, orgId: string, visible: Visible, page: Page) {
  return sql<ListedProject[]>`
    select id, workspace_id, name, created_at from projects
    where ${projectsOf(sql, orgId, visible)}
      ${isOlder(sql, sql`(created_at, id)`, page.before)}
    order by created_at desc, id desc limit ${page.limit} offset ${page.offset}`
}

/** Counted no further than `limit`. */
export async function countProjects(
  sql: Queryable,
  orgId: string,
  visible: Visible,
  limit: number,
) {
  return countUpTo(sql, limit, sql`projects where ${projectsOf(sql, orgId, visible)}`)
}

function workspacesOf(sql: Queryable, orgId: string, { workspaceId }: Visible) {
  return sql`org_id = ${orgId} ${workspaceId ? sql`and id = ${workspaceId}` : sql``}`
}

function projectsOf(sql: Queryable, orgId: string, { workspaceId, projectId }: Visible) {
  return sql`org_id = ${orgId}
    ${workspaceId ? sql`and workspace_id = ${workspaceId}` : sql``}
    ${projectId ? sql`and id = ${projectId}` : sql``}`
}
