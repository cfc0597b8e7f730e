import { endpoint } from '../endpoint.ts'
import { errorBody } from '../fields.ts'
import { checkBody } from './check-body.ts'
import { checkPath, findVisibleCheck, viewCheck } from './check.ts'

export const showCheck = endpoint('GET', '/regression-check/{check_id}', {
  summary: 'Read the impact report of a regression check',
  access: 'key',
  params: checkPath,
  answers: { 200: checkBody, 404: errorBody },
  handle: async ({ context, principal, params }) =>
    viewCheck(await findVisibleCheck(context, principal, params.check_id)),
})
