import Joi from 'joi'
import { Answer, endpoint } from '../endpoint.ts'
import { findUnready } from './find-unready.ts'

export const showReadiness = endpoint('GET', '//readyz', {
  summary:
    'Whether the process can serve: database and storage answer, the schema is that of its release, and it is not stopping',
  access: 'open',
  answers: {
    200: Joi.object({ status: Joi.string().valid('ok').required() }).label('Ready'),
    503: Joi.object({ status: Joi.string().required() }).label('NotReady'),
  },
  async handle({ context }) {
    const unready = await findUnready(context)
    return unready ? new Answer(503, { status: unready.status }) : { status: 'ok' }
  },
})
