import { job } from './job.ts'
import { shape } from './shape.ts'
import { SCHEDULED_WORK } from './queue-options.ts'

/** Has versions scanned again that only an earlier scanner has looked at, and skills scored whose score is due. */
export const sweepSkills = job(
  'skills.sweep',
  { payload: shape({}) },
  { ...SCHEDULED_WORK, policy: 'short' },
)
