import { job } from './job.ts'
import { SECONDS_OF_WORK } from './queue-options.ts'
import { shape, uuid } from './shape.ts'

/** Looks through a version of a skill for what would harm who installs it. */
export const scanSkill = job(
  'skills.scan',
  { payload: shape({ version_id: uuid() }) },
  { ...SECONDS_OF_WORK, policy: 'short' },
)
