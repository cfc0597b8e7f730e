import * as jobs from '../../jobs/scan-skill.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { copyFiles } from '../skills/skill-files.ts'
import { insertVersions } from '../skills/skill-versions.ts'
import type { NewSkillVersion } from '../skills/skill-versions.ts'
import { adoptSkills } from '../skills/skills.ts'

/**
 * Adds versions of skills that the transaction has locked. Each begins with the files of the version it
 * follows, which is frozen; and is scanned.
 */
export async function addSkillVersions(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  versions: readonly NewSkillVersion[],
) {
  if (versions.length === 0) return
  await insertVersions(tx, orgId, versions)
  const following = versions.flatMap(({ id, skill_id: skill, parent_version_id: parent }) =>
    parent === null ? [] : [{ id, skill, parent }],
  )
  await adoptSkills(
    tx,
    orgId,
    following.map(({ skill }) => skill),
  )
  const parents = following.map(({ parent }) => parent)
  await copyFiles(
    tx,
    orgId,
    parents,
    following.map(({ id }) => id),
  )
  for (const { id } of versions) {
    await queue.enqueue(tx, jobs.scanSkill, { version_id: id }, { orgId, key: id })
  }
}
