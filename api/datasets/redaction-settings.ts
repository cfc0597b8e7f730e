import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import { nullable, times } from '../fields.ts'

export const redactionSettingsBody = Joi.object({
  patterns: listOf(
    Joi.object({ name: Joi.string().required(), pattern: Joi.string().required() }).label(
      'RedactionPattern',
    ),
  ).required(),
  keep: listOf(Joi.string()).required(),
  updated_by: nullable(Joi.string().guid()),
  updated_at: nullable(times).description('Null where nothing was ever set'),
}).label('RedactionSettings')
