import Joi from 'joi'
import { endpoint } from '../endpoint.ts'

export const showLiveness = endpoint('GET', '//livez', {
  summary: 'Whether the process is alive; never asks the database',
  access: 'open',
  aliases: ['//health'],
  answers: { 200: Joi.object({ status: Joi.string().valid('ok').required() }).label('Live') },
  handle: async () => ({ status: 'ok' }),
})
