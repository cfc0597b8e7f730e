import Joi from 'joi'
import { Answer, endpoint } from '../endpoint.ts'

export const showReadiness = endpoint('GET', '//readyz', {
  summary:
    'Whether the process can serve: database and storage answer and the process is not stopping',
  access: 'open',
  answers: {
    200: Joi.object({ status: Joi.string().valid('ok').required() }).label('Ready'),
    503: Joi.object({ status: Joi.string().required() }).label('NotReady'),
  },
  async handle({ context }) {
    if (context.isStopping()) return new Answer(503, { status: 'stopping' })
    const answered = await context.sql`select 1`.then(
      () => true,
      () => false,
    )
    if (!answered) return new Answer(503, { status: 'database is away' })
    const fault = await context.storage.findFault()
    return fault ? new Answer(503, { status: 'storage is away' }) : { status: 'ok' }
  },
})
