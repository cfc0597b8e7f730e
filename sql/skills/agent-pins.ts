import { pinOf } from '../../jobs/rules/skills/resolution.ts'
import type { Queryable } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'

/**
 * The version of a skill that an agent is held to; undefined where it uses the latest, does not use the
 * skill, or is held to different versions in the projects looked at.
 */
export async function findPin(
  sql: Queryable,
  orgId: string,
  skillId: string,
  agent: { readonly name: string; readonly projectIds: readonly string[] | null },
): Promise<string | undefined> {
  const pins = await sql<{ version_id: string | null }[]>`
    select distinct version_id from skill_assignments
    where org_id = ${orgId} and skill_id = ${skillId} and agent_name = ${agent.name}
      ${inProjects(sql, sql`project_id`, agent.projectIds)}
    limit 2`
  return pinOf(pins.map(({ version_id }) => version_id))
}
