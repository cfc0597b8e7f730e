import { announceSafetyHandler } from './announce-safety.ts'
import { scanSkillHandler } from './scan-skill.ts'
import { scoreSkillHandler } from './score-skill.ts'
import { sweepSkillsHandler } from './sweep-skills.ts'

/** The handlers of this pool's jobs, in the order of `pools.ts`. */
export const handlers = [
  scanSkillHandler,
  announceSafetyHandler,
  scoreSkillHandler,
  sweepSkillsHandler,
]
