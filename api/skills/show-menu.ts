import { int, shape, text, textReference } from '../../jobs/shape.ts'
import { listOffered } from '../../sql/skills/offered-skills.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField } from '../fields.ts'
import { readableProjects } from '../projects.ts'
import { alsoNamed } from './analytics.ts'
import { offerBody, viewOffer } from './offer.ts'

export const showMenu = endpoint('GET', '/skills/menu', {
  summary: 'List the skills that an agent can be offered: assigned ones, then the others, by name',
  description:
    'Own skills, and public ones of other organizations that are assigned. Skills that only a person may start and those whose newest version is blocked are left out.',
  access: 'key',
  query: alsoNamed(
    shape(
      {},
      {
        agent_name: textReference().description('Whose assignments count; default any agent'),
        category: text(64).empty(['', null]),
        project: projectField.description('Project id or name; whose assignments count'),
        limit: int(1, 200).default(100),
      },
    ),
    { project_id: 'project' },
  ),
  answers: { 200: offerBody, 404: errorBody },
  async handle({ context: { sql }, principal, query }) {
    const { agent_name: agentName, category, project, limit } = query
    const projectIds = await readableProjects(sql, principal, project)
    const offer = { projectIds, agentName, category, limit }
    return viewOffer(await listOffered(sql, principal.orgId, offer), 'menu')
  },
})
