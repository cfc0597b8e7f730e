import { scanSkill } from '../../jobs/scan-skill.ts'
import { sweepSkills } from '../../jobs/sweep-skills.ts'
import { listRescans } from '../../sql/skills/safety.ts'
import { transactionalHandler } from '../runtime/handler.ts'

export const sweepSkillsHandler = transactionalHandler(sweepSkills, async (_, { queue }, tx) => {
  const due = await listRescans(tx, RESCANS_A_SWEEP)
  for (const [i, { org_id: orgId, version_id }] of due.entries()) {
    // The queue holds one waiting job of a key, so a version that waits since the last sweep gets no other.
    const options = { orgId, key: version_id, priority: RESCAN_PRIORITY - i }
    await queue.enqueue(tx, scanSkill, { version_id }, options)
  }
})

/** The versions beyond this number are due at the next sweep. */
const RESCANS_A_SWEEP = 1000
/** Behind every scan that somebody waits for; among themselves in the order of the list. */
const RESCAN_PRIORITY = -1_000_000
