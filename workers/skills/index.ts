import { announceSafetyHandler } from './announce-safety.ts'
import { scanSkillHandler } from './scan-skill.ts'
import { scoreSkillHandler } from './score-skill.ts'
import { sweepSkillsHandler } from './sweep-skills.ts'

/** What does the jobs of the pool. */
export const handlers = [
  scanSkillHandler,
  announceSafetyHandler,
  scoreSkillHandler,
  sweepSkillsHandler,
]
