import Joi from 'joi'
import { listOf, shape } from '../../jobs/shape.ts'
import { listAssignments } from '../../sql/skills/skill-assignments.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, shortListMembers, pageQuery, projectField } from '../fields.ts'
import { pageMembers, readPage } from '../pagination.ts'
import { readableProjects } from '../projects.ts'
import {
  assignablePath,
  findSubscribed,
  subscriptionBody,
  viewSubscription,
} from './subscription.ts'

export const listSubscriptions = endpoint('GET', '/skills/{skill_name}/subscriptions', {
  summary: 'List the organization’s agents that use a skill, by name',
  access: 'key',
  aliases: ['/skills/{skill_name}/subscribers'],
  params: assignablePath,
  query: shape({}, { ...pageQuery, project: projectField }),
  answers: {
    200: Joi.object({
      subscriptions: listOf(subscriptionBody).required(),
      ...shortListMembers,
    }).label('SkillSubscriptionList'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query }) {
    const skill = await findSubscribed(sql, principal, params.skill_name)
    const projectIds = await readableProjects(sql, principal, query.project)
    const filter = { skillId: skill.id, projectIds }
    const page = readPage(query)
    const { rows, total } = await listAssignments(sql, principal.orgId, filter, page)
    const subscriptions = rows.map((row) => viewSubscription(skill, row))
    return { subscriptions, ...pageMembers(page, total) }
  },
})
