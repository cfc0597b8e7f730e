import { endpoint } from '../endpoint.ts'
import { unprocessableBody } from '../fields.ts'
import { answerResolve, resolveBody } from './resolve-request.ts'
import { resolvedBody } from './resolved-item.ts'

export const resolvePublicSkills = endpoint('POST', '/registry/public/install/resolve', {
  summary: 'Find how public skills are installed, without a key',
  description:
    'As with a key, but for public skills alone, whoever asks. What is not public, or withheld, is `not_found`, like what never was; a skill whose newest version is blocked is that before it.',
  access: 'public',
  body: resolveBody('PublicResolveRequest', { maxItems: 20 }),
  answers: { 200: resolvedBody, 422: unprocessableBody },
  handle: ({ context: { sql }, body, request }) => answerResolve(sql, null, body, request),
})
