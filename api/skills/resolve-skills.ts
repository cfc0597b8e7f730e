import { endpoint } from '../endpoint.ts'
import { unprocessableBody } from '../fields.ts'
import { readableProjects } from '../projects.ts'
import { answerResolve, resolveBody } from './resolve-request.ts'
import { resolvedBody } from './resolved-item.ts'

export const resolveSkills = endpoint('POST', '/registry/install/resolve', {
  summary: 'Find the versions, folders and files by which skills are installed',
  description:
    'Writes nothing: a skill is copied by installing it. A reference is looked up among the organization’s own skills, then those that its agents are assigned, then the public ones; the first of these that has it decides. An item that cannot be resolved has an `error`, and the others are answered all the same. Like every POST it needs a key that may write.',
  access: 'key',
  body: resolveBody('ResolveRequest', { maxItems: 100 }),
  answers: { 200: resolvedBody, 422: unprocessableBody },
  async handle({ context: { sql }, principal, body, request }) {
    const projectIds = await readableProjects(sql, principal, undefined)
    return answerResolve(sql, { orgId: principal.orgId, projectIds }, body, request)
  },
})
