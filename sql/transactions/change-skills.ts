import type { Queue } from '../../jobs/queue.ts'
import { scanSkill } from '../../jobs/scan-skill.ts'
import type { Transaction } from '../core/db.ts'
import { reviseDescribed, updateSkills } from '../skills/skills.ts'

/**
 * Replaces all details of skills that the transaction has locked. What is public of them when the skill is
 * published, and what agents read before they choose it, is scanned again, with the newest version.
 */
export async function changeSkills(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  skills: Parameters<typeof updateSkills>[2],
) {
  if (skills.length === 0) return
  const revised = await reviseDescribed(tx, orgId, skills)
  await updateSkills(tx, orgId, skills)
  for (const version_id of revised) {
    await queue.enqueue(tx, scanSkill, { version_id }, { orgId, key: version_id })
  }
}
