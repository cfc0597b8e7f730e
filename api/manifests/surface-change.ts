import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import { COMPONENT_TYPES } from '../../jobs/rules/manifests/manifest.ts'
import { CHANGE_TYPES } from '../../jobs/rules/manifests/surface-change.ts'
import { nullable } from '../fields.ts'

export const changedSurfaceBody = Joi.object({
  surface: Joi.string().required().description('<component_type>:<component_name>'),
  component_type: Joi.string()
    .valid(...COMPONENT_TYPES)
    .required(),
  component_name: Joi.string().required(),
  new_name: nullable(Joi.string()),
  change_type: Joi.string()
    .valid(...CHANGE_TYPES)
    .required(),
  state: Joi.string().valid('doc_only', 'changed', 'added', 'removed', 'renamed').required(),
  severity: Joi.string().valid('minor', 'moderate', 'major').required(),
  breaking: Joi.boolean().required(),
  details: listOf(Joi.object().unknown(true).label('ChangeDetail')).required(),
}).label('ChangedSurface')
