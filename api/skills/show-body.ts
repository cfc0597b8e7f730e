import Joi from 'joi'
import { cut } from '../../jobs/rules/core/reader.ts'
import { MAX_BODY_BYTES } from '../../jobs/rules/skills/skill.ts'
import { int, shape, textReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findPin } from '../../sql/skills/agent-pins.ts'
import { findPublicSkill } from '../../sql/skills/public-skills.ts'
import { readBodies } from '../../sql/skills/skill-versions.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { readableProjects } from '../projects.ts'
import { findVisibleSkill } from './skill.ts'
import { assignablePath, findReadable } from './subscription.ts'
import { findVisibleVersion, readVersionReference, versionReference } from './version.ts'

export const showBody = endpoint('GET', '/skills/{skill_name}/body', {
  summary: 'Read the body of a skill of the organization, or of a public one',
  description:
    'A public one is named by its id, its url_slug or `handle/name`; by its bare name only where an agent is assigned it. With agent_name and no version it is the version that the agent is held to, else the newest.',
  access: 'key',
  params: assignablePath,
  query: shape(
    {},
    {
      version: versionReference,
      max_chars: int(1, MAX_BODY_BYTES).description('Cut after so many characters'),
      agent_name: textReference(),
    },
  ),
  answers: {
    200: Joi.object({
      body: Joi.string().allow('').required(),
      skill_id: Joi.string().guid().required(),
      name: Joi.string().required(),
      description: Joi.string().required(),
      version_number: Joi.number().integer().required(),
      truncated: Joi.boolean().required().description('It was cut after max_chars'),
    }).label('SkillText'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query }) {
    const { version, agent_name, max_chars = MAX_BODY_BYTES } = query
    const agent = agent_name === undefined ? undefined : { principal, name: agent_name }
    const { scope, skill_id: id } = await findReadable(sql, principal, params.skill_name)
    const asked = version ?? (await agentPin(sql, id, agent))
    const found =
      scope === 'own' ? await readOwn(sql, principal, id, asked) : await readPublic(sql, id, asked)
    const body = cut(found.body, max_chars)
    return { ...found, body, truncated: body.length < found.body.length }
  },
})

async function readOwn(sql: Queryable, principal: Principal, skillId: string, reference?: string) {
  const { orgId } = principal
  const { name, description } = await findVisibleSkill(sql, principal, skillId)
  const { id, version_number } = await findVisibleVersion(sql, orgId, skillId, reference)
  const body = (await readBodies(sql, orgId, [id])).get(id) ?? ''
  return { body, skill_id: skillId, name, description, version_number }
}

async function readPublic(sql: Queryable, skillId: string, reference?: string) {
  const by = readVersionReference(reference)
  const found = by && (await findPublicSkill(sql, skillId, by === 'latest' ? undefined : by))
  if (!found) throw notFound(reference === undefined ? 'Skill' : 'Version')
  const { body, skill_id, name, description, version_number } = found
  return { body, skill_id, name, description, version_number }
}

async function agentPin(sql: Queryable, skillId: string, agent: Agent | undefined) {
  if (!agent) return undefined
  const projectIds = await readableProjects(sql, agent.principal, undefined)
  return findPin(sql, agent.principal.orgId, skillId, { name: agent.name, projectIds })
}

interface Agent {
  readonly principal: Principal
  readonly name: string
}
