import { DAY_MS } from '../../jobs/rules/core/time.ts'
import { scanSkill } from '../../jobs/scan-skill.ts'
import { scoreSkill } from '../../jobs/score-skill.ts'
import type { Queue } from '../../jobs/queue.ts'
import { sweepSkills } from '../../jobs/sweep-skills.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listScoredBefore } from '../../sql/skills/registry-scores.ts'
import { listRescans } from '../../sql/skills/safety.ts'
import { takeScoresDue } from '../../sql/skills/scores-due.ts'
import { transactionalHandler } from '../runtime/handler.ts'

export const sweepSkillsHandler = transactionalHandler(
  sweepSkills,
  async (_, { queue, now }, tx) => {
    await requestScans(tx, queue)
    await requestScores(tx, queue, now())
  },
)

async function requestScans(tx: Transaction, queue: Queue) {
  const due = await listRescans(tx, RESCANS_A_SWEEP)
  for (const [i, { org_id: orgId, version_id }] of due.entries()) {
    // The queue holds one waiting job of a key, so a version that waits since the last sweep gets no other.
    const options = { orgId, key: version_id, priority: RESCAN_PRIORITY - i }
    await queue.enqueue(tx, scanSkill, { version_id }, options)
  }
}

/**
 * Skills of which evidence came, and then those that were scored a day ago or never: nothing is noted where
 * evidence grows too old, is deleted, or belongs to a version that is public since.
 */
async function requestScores(tx: Transaction, queue: Queue, now: Date) {
  const noted = await takeScoresDue(tx, SCORES_A_SWEEP)
  const before = new Date(now.getTime() - DAY_MS)
  const old = await listScoredBefore(tx, before, SCORES_A_SWEEP)
  const due = new Map([...noted, ...old].map((skill) => [skill.skill_id, skill]))
  for (const [i, { skill_id, org_id: orgId }] of [...due.values()].entries()) {
    await queue.enqueue(tx, scoreSkill, { skill_id }, { orgId, key: skill_id, priority: -i })
  }
}

/** The versions beyond this number are due at the next sweep. */
const RESCANS_A_SWEEP = 1000
/** Behind every scan that somebody waits for; among themselves in the order of the list. */
const RESCAN_PRIORITY = -1_000_000
/** Of each kind; the others are due at the next sweep. */
const SCORES_A_SWEEP = 1000
