import Joi from 'joi'
import { endpoint } from '../endpoint.ts'
import { INTERFACE_VERSION } from './interface-version.ts'

export const showVersion = endpoint('GET', '//version', {
  summary: 'Versions of the interface and the runtime',
  access: 'open',
  answers: {
    200: Joi.object({ version: Joi.string().required(), node: Joi.string().required() }).label(
      'Version',
    ),
  },
  handle: async () => ({ version: INTERFACE_VERSION, node: process.version }),
})
