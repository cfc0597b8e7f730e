import Joi from 'joi'
import { job } from './job.ts'
import type { Payload } from './job.ts'
import { SECONDS_OF_WORK } from './queue-options.ts'
import { BANDS } from './rules/skills/skill.ts'
import { anyText, anyTime, bool, count, listOf, oneOf, shape, uuid } from './shape.ts'

/** Tells further organizations that installed a skill how safe its version is now. */
export const announceSafety = job(
  'skills.announce',
  {
    payload: shape({
      skill_id: uuid(),
      skill_name: anyText(),
      version_id: uuid(),
      version: count(),
      previous_band: oneOf(...BANDS),
      band: oneOf(...BANDS),
      reason_codes: listOf(Joi.string()).max(100),
      scanner_version: count(),
      /** The operator withdrew the skill. */
      is_held: bool(),
      changed_at: anyTime(),
      /** The organization that was told last. */
      after: uuid(),
    }),
  },
  SECONDS_OF_WORK,
)

/** What installers are told. */
export type SafetyChange = Omit<Payload<typeof announceSafety>, 'after'>
