import Joi from 'joi'
import { nullable, times } from '../fields.ts'

export const keyFields = {
  id: Joi.string().guid().required(),
  key_prefix: Joi.string().required(),
  label: Joi.string().required(),
  scope: Joi.string().valid('global', 'workspace', 'project').required(),
  workspace_id: nullable(Joi.string().guid()),
  project_id: nullable(Joi.string().guid()),
  permissions: Joi.string().valid('read', 'write', 'admin').required(),
  expires_at: nullable(times),
  created_at: times.required(),
}
