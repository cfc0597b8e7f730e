import { cut } from '../../jobs/rules/core/reader.ts'
import { bool, int, shape, text, textReference } from '../../jobs/shape.ts'
import { listOffered } from '../../sql/skills/offered-skills.ts'
import { endpoint } from '../endpoint.ts'
import { readableProjects } from '../projects.ts'
import { offerBody, viewOffer } from './offer.ts'

/** Clients send all that an agent is told. */
const MAX_QUERY = 64 * 1024
const WORDS_READ = 4000

export const routeSkills = endpoint('POST', '/skills/route', {
  summary: 'Find the skills that fit a task, the best first',
  description:
    'Among those of GET /skills/menu, by the words of the query in name, description and trigger phrases. Nothing is stored.',
  access: 'key',
  body: shape(
    { query: text(MAX_QUERY).description(`Its first ${WORDS_READ} characters count`) },
    {
      top_k: int(1, 50).default(5),
      include_attachments: bool().default(false),
      agent_name: textReference().description('Whose assignments count; default any agent'),
      category: text(64).empty(['', null]),
    },
  )
    .label('SkillRouteRequest')
    .example({ query: 'Where is my order?', top_k: 3 }),
  answers: { 200: offerBody },
  async handle({ context: { sql }, principal, body }) {
    const { agent_name: agentName, category, top_k: limit, include_attachments } = body
    const query = cut(body.query, WORDS_READ)
    const projectIds = await readableProjects(sql, principal, undefined)
    const offer = { projectIds, agentName, category, query, limit }
    const rows = await listOffered(sql, principal.orgId, offer)
    return viewOffer(rows, 'full_text', include_attachments)
  },
})
