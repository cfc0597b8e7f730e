import Joi from 'joi'
import { faultOfPattern } from '../../jobs/rules/core/pattern.ts'
import { listOf, shape, text } from '../../jobs/shape.ts'
import { nullable, times } from '../fields.ts'

export const patterns = listOf(
  shape({ name: text(64).min(1), pattern: text(500).min(1).custom(checkPattern) }).label(
    'RedactionPatternRequest',
  ),
)
  .max(20)
  .unique('name')

export const keep = listOf(text().min(1)).max(1000)

export const redactionSettingsBody = Joi.object({
  patterns: listOf(
    Joi.object({ name: Joi.string().required(), pattern: Joi.string().required() }).label(
      'RedactionPattern',
    ),
  ).required(),
  keep: listOf(Joi.string()).required(),
  updated_by: nullable(Joi.string().guid()).required(),
  updated_at: nullable(times).required().description('Null where nothing was ever set'),
}).label('RedactionSettings')

function checkPattern(source: string, { message }: Joi.CustomHelpers) {
  const fault = faultOfPattern(source, { mayBeEmpty: false })
  return fault === undefined ? source : message({ custom: '{#label} {#fault}' }, { fault })
}
