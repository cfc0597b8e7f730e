import { endpoint } from '../endpoint.ts'
import { callerBody, viewCaller } from './caller.ts'

export const showMe = endpoint('GET', '/auth/me', {
  summary: 'Who the caller is',
  access: 'key',
  answers: { 200: callerBody },
  handle: async ({ principal }) => viewCaller(principal),
})
