import Joi from 'joi'
import { times } from '../fields.ts'

export const projectBody = Joi.object({
  id: Joi.string().guid().required(),
  workspace_id: Joi.string().guid().required(),
  name: Joi.string().required(),
  created_at: times.required(),
}).label('Project')
