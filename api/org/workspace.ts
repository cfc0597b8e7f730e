import Joi from 'joi'
import { times } from '../fields.ts'

export const workspaceBody = Joi.object({
  id: Joi.string().guid().required(),
  name: Joi.string().required(),
  created_at: times.required(),
}).label('Workspace')
