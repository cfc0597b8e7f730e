import { scanSkill } from '../../jobs/scan-skill.ts'
import type { SkillVersionRow } from '../../sql/skills/skill-versions.ts'
import { admitJob } from '../admit-job.ts'
import type { ApiContext } from '../context.ts'
import type { Principal } from '../principal.ts'

/** Has a version scanned for somebody who waits for it. @returns the job's id @throws ApiError 429 */
export async function submitScan(
  context: ApiContext,
  principal: Principal,
  { id, skill_id, version_number }: SkillVersionRow,
): Promise<string> {
  const resultRef = `/skills/${skill_id}/versions/${version_number}`
  const submission = { projectId: principal.projectId, resultRef }
  return admitJob(context, context.sql, principal, scanSkill, { version_id: id }, submission)
}
