import { onlyRow } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { countUpTo, MAX_COUNTED } from '../core/pages.ts'
import { inProjects } from '../core/projects.ts'

/** An agent's use of a skill, of its own organization or a published one of another. */
export interface AssignmentRow {
  project_id: string
  agent_name: string
  /** Null for the latest. */
  version_id: string | null
  /** The key that made it. */
  created_by_key_id: string | null
  created_at: Date
}

export interface AssignmentKey {
  readonly project_id: string
  readonly agent_name: string
  readonly skill_id: string
}

/** Makes an assignment, or gives the one that is there its version. */
export async function upsertAssignment(
  tx: Transaction,
  orgId: string,
  assignment: AssignmentKey & {
    readonly version_id: string | null
    readonly created_by_key_id: string
  },
) {
  const { project_id, agent_name, skill_id, version_id } = assignment
  const rows = await tx<(AssignmentRow & { is_new: boolean })[]>`
    insert into skill_assignments (org_id, project_id, agent_name, skill_id, version_id,
      created_by_key_id)
    values (${orgId}, ${project_id}, ${agent_name}, ${skill_id}, ${version_id},
      ${assignment.created_by_key_id})
    on conflict (org_id, project_id, agent_name, skill_id) do update
    set version_id = excluded.version_id
    returning ${columns(tx)}, xmax = 0 as is_new`
  const { is_new: isNew, ...row } = onlyRow(rows)
  return { row, isNew }
}

/** Whether there was one. */
export async function deleteAssignment(sql: Queryable, orgId: string, assignment: AssignmentKey) {
  const { project_id, agent_name, skill_id } = assignment
  const deleted = await sql`
    delete from skill_assignments
    where org_id = ${orgId} and project_id = ${project_id} and agent_name = ${agent_name}
      and skill_id = ${skill_id}`
  return deleted.count > 0
}

/**
 * A page of a skill's assignments by agent, and how many there are on all pages.
 * @param projectIds null for all projects of the organization
 */
export async function listAssignments(
  sql: Queryable,
  orgId: string,
  { skillId, projectIds }: { skillId: string; projectIds: readonly string[] | null },
  { limit, offset }: { limit: number; offset: number },
) {
  const matching = sql`skill_assignments
    where org_id = ${orgId} and skill_id = ${skillId} ${inProjects(sql, sql`project_id`, projectIds)}`
  const [rows, total] = await Promise.all([
    sql<AssignmentRow[]>`
      select ${columns(sql)} from ${matching} order by agent_name, project_id
      limit ${limit} offset ${offset}`,
    countUpTo(sql, MAX_COUNTED, matching),
  ])
  return { rows, total }
}

/**
 * A skill that an agent of the organization uses, by its id or url slug, although it may be public no
 * more.
 */
export async function findAssignedSkill(
  sql: Queryable,
  orgId: string,
  by: { readonly id: string } | { readonly urlSlug: string },
) {
  const [row] = await sql<{ id: string; url_slug: string | null }[]>`
    select a.skill_id as id, s.url_slug
    from skill_assignments a left join registry_slugs s on s.skill_id = a.skill_id
    where a.org_id = ${orgId}
      and ${'id' in by ? sql`a.skill_id = ${by.id}` : sql`s.url_slug = ${by.urlSlug}`}
    limit 1`
  return row
}

function columns(sql: Queryable) {
  return sql`project_id, agent_name, version_id, created_by_key_id, created_at`
}
