import { job } from './job.ts'
import { SECONDS_OF_WORK } from './queue-options.ts'
import { shape, uuid } from './shape.ts'

/** Computes the SkillScore of a published skill from its evidence. */
export const scoreSkill = job(
  'skills.score',
  { payload: shape({ skill_id: uuid() }) },
  { ...SECONDS_OF_WORK, policy: 'short' },
)
