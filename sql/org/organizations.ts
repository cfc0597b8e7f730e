import type { Plan, Rate } from '../../jobs/rules/org/plan.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'

export type { Plan }

export interface ProjectRow {
  id: string
  workspace_id: string
  name: string
}

/** Inserts an organization with workspace `default` and, in it, project `default`. */
export async function insertOrganization(
  sql: Queryable,
  org: {
    id: string
    name: string
    plan: Plan
    billing_contact: string | null
    workspace_id: string
    project_id: string
  },
) {
  await sql`
    with org as (
      insert into organizations (id, name, plan, billing_contact)
      values (${org.id}, ${org.name}, ${org.plan}, ${org.billing_contact})
    ), workspace as (
      insert into workspaces (org_id, id, name) values (${org.id}, ${org.workspace_id}, 'default')
    )
    insert into projects (org_id, id, workspace_id, name)
    values (${org.id}, ${org.project_id}, ${org.workspace_id}, 'default')`
}

/** Id of the organization that was made first, one that is to be deleted last of all; undefined without any. */
export async function findFirstOrganization(sql: Queryable) {
  const [row] = await sql<{ id: string }[]>`
    select id from organizations order by deletion_requested_at nulls first, created_at, id limit 1`
  return row?.id
}

export async function findOrganization(sql: Queryable, id: string) {
  const [row] = await sql<{ id: string; name: string; plan: Plan }[]>`
    select id, name, plan from organizations where id = ${id}`
  return row
}

/** At most `limit` organizations by name; all that have exactly this name, where one is given. */
export async function listOrganizations(
  sql: Queryable,
  { name, limit }: { readonly name?: string | undefined; readonly limit: number },
) {
  return sql<
    {
      org_id: string
      name: string
      plan: Plan
      created_at: Date
      deletion_requested_at: Date | null
    }[]
  >`
    select id as org_id, name, plan, created_at, deletion_requested_at from organizations
    where ${name === undefined ? sql`true` : sql`name = ${name}`}
    order by name, id limit ${limit}`
}

export async function nameOrganizations(sql: Queryable, ids: readonly string[]) {
  return sql<{ id: string; org_name: string; plan: Plan }[]>`
    select id, name as org_name, plan from organizations where id = any(${ids}::uuid[])`
}

/** False when there is no such organization. */
export async function updatePlan(sql: Queryable, orgId: string, plan: Plan) {
  const updated = await sql`update organizations set plan = ${plan} where id = ${orgId}`
  return updated.count === 1
}

/**
 * Sets what an organization may request a minute while it is on the enterprise plan; null restores the
 * plan's own numbers. False when there is no such organization.
 */
export async function updateRate(sql: Queryable, orgId: string, rate: Rate | null) {
  const updated = await sql`
    update organizations
    set rate_per_minute = ${rate?.perMinute ?? null}, rate_burst = ${rate?.burst ?? null}
    where id = ${orgId}`
  return updated.count === 1
}

/** Sets after how many days its traces are deleted; null keeps them. False when there is no such organization. */
export async function updateRetention(sql: Queryable, orgId: string, days: number | null) {
  const updated = await sql`update organizations set retention_days = ${days} where id = ${orgId}`
  return updated.count === 1
}

/** After how many days an organization's traces are deleted; null where they are kept, or nobody is. */
export async function findRetention(sql: Queryable, orgId: string): Promise<number | null> {
  const [row] = await sql<{ days: number | null }[]>`
    select retention_days as days from organizations where id = ${orgId}`
  return row?.days ?? null
}

/**
 * Sets the handle that names an organization in the registry. `published` while it has skills there, which
 * are found by the handle; `taken` where another organization has it; undefined for no organization.
 */
export async function updateHandle(tx: Transaction, orgId: string, handle: string) {
  await tx`select pg_advisory_xact_lock(hashtextextended('handle ' || ${handle}::text, 0))`
  // Who publishes a skill holds this row: what is published by then is seen by the statement after it.
  await tx`select from organizations where id = ${orgId} for update`
  const [found] = await tx<{ outcome: 'published' | 'taken' | 'free' }[]>`
    select case
      when exists (select from registry_skills r where r.org_id = o.id) then 'published'
      when exists (select from organizations other
        where other.handle = ${handle} and other.id <> o.id) then 'taken'
      else 'free' end as outcome
    from organizations o where o.id = ${orgId}`
  if (found?.outcome === 'free') {
    await tx`update organizations set handle = ${handle} where id = ${orgId}`
  }
  return found?.outcome
}

/** Suspends an organization, so that all its keys are refused, or ends that. False when there is no such organization. */
export async function setSuspended(sql: Queryable, orgId: string, isSuspended: boolean) {
  const updated = await sql`
    update organizations
    set suspended_at = case when ${isSuspended} then coalesce(suspended_at, now()) end
    where id = ${orgId}`
  return updated.count === 1
}

/** Finds a project by its id or its name. */
export async function findProject(sql: Queryable, orgId: string, idOrName: string) {
  const [row] = await sql<ProjectRow[]>`
    select id, workspace_id, name from projects
    where org_id = ${orgId} and (name = ${idOrName} or id::text = ${idOrName})
    order by name = ${idOrName} desc limit 1`
  return row
}

/** The project named `default`, else the oldest of the organization: work on all its projects is shown there. */
export async function findMainProject(sql: Queryable, orgId: string) {
  const [row] = await sql<ProjectRow[]>`
    select id, workspace_id, name from projects where org_id = ${orgId}
    order by name = 'default' desc, created_at, id limit 1`
  return row
}

/** The oldest project of a workspace: a workspace key writes there when it names no project. */
export async function findOldestProject(sql: Queryable, orgId: string, workspaceId: string) {
  const [row] = await sql<ProjectRow[]>`
    select id, workspace_id, name from projects
    where org_id = ${orgId} and workspace_id = ${workspaceId} order by created_at, id limit 1`
  return row
}

export async function listProjectIds(sql: Queryable, orgId: string, workspaceId: string) {
  const rows = await sql<{ id: string }[]>`
    select id from projects where org_id = ${orgId} and workspace_id = ${workspaceId}`
  return rows.map(({ id }) => id)
}

/**
 * The projects of an organization in the order of their ids, from one on.
 * @param projectIds null for all
 * @param from undefined for the first
 */
export async function listProjectsFrom(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  from: string | undefined,
) {
  const rows = await sql<{ id: string }[]>`
    select id from projects
    where org_id = ${orgId} ${inProjects(sql, sql`id`, projectIds)}
      ${from === undefined ? sql`` : sql`and id >= ${from}`}
    order by id`
  return rows.map(({ id }) => id)
}

export async function findWorkspace(sql: Queryable, orgId: string, idOrName: string) {
  const [row] = await sql<{ id: string; name: string }[]>`
    select id, name from workspaces
    where org_id = ${orgId} and (name = ${idOrName} or id::text = ${idOrName})
    order by name = ${idOrName} desc limit 1`
  return row
}

/** Inserts a project unless its name is taken; returns the project with that name. */
export async function upsertProject(
  sql: Queryable,
  orgId: string,
  project: { id: string; workspace_id: string; name: string },
) {
  await sql`
    insert into projects (org_id, id, workspace_id, name)
    values (${orgId}, ${project.id}, ${project.workspace_id}, ${project.name})
    on conflict (org_id, name) do nothing`
  const found = await findProject(sql, orgId, project.name)
  if (!found) throw new Error(`There is no project ${project.name}`)
  return found
}
