import Joi from 'joi'
import { Answer, endpoint } from '../endpoint.ts'

export const livez = endpoint('GET', '//livez', {
  area: 'health',
  summary: 'Whether the process is alive; never asks the database',
  access: 'open',
  answers: { 200: Joi.object({ status: Joi.string().valid('ok').required() }).label('Live') },
  handle: async () => ({ status: 'ok' }),
})

export const readyz = endpoint('GET', '//readyz', {
  area: 'health',
  summary: 'Whether the process can serve: the database answers and the process is not stopping',
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
    return answered ? { status: 'ok' } : new Answer(503, { status: 'database is away' })
  },
})

export const version = endpoint('GET', '//version', {
  area: 'health',
  summary: 'Versions of the interface and the runtime',
  access: 'open',
  answers: {
    200: Joi.object({ version: Joi.string().required(), node: Joi.string().required() }).label(
      'Version',
    ),
  },
  handle: async () => ({ version: INTERFACE_VERSION, node: process.version }),
})

export const INTERFACE_VERSION = '0.1.0'
