import Joi from 'joi'
import { shape } from '../../jobs/shape.ts'
import { deleteAssignment } from '../../sql/skills/skill-assignments.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, projectField, projectQuery } from '../fields.ts'
import { findWritableProject } from '../projects.ts'
import { agentField, assignablePath, findSubscribed } from './subscription.ts'

export const unassignSkill = endpoint('DELETE', '/skills/{skill_name}/assign', {
  summary: 'Stop an agent from using a skill',
  access: 'key',
  aliases: [
    {
      path: '/skills/{skill_name}/subscribe',
      deprecatedSince: new Date('2026-11-23T00:00:00Z'),
    },
  ],
  params: assignablePath,
  query: projectQuery,
  body: shape({ agent_name: agentField }, { project: projectField })
    .label('UnassignmentRequest')
    .example({ agent_name: 'shop-agent' }),
  answers: {
    200: Joi.object({
      status: Joi.string().valid('ok').required(),
      removed: Joi.boolean().required().description('False where the agent did not use it'),
    }).label('Unassigned'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query, body }) {
    const skill = await findSubscribed(sql, principal, params.skill_name)
    const project = await findWritableProject(sql, principal, query.project)
    const removed =
      project !== undefined &&
      (await deleteAssignment(sql, principal.orgId, {
        project_id: project.id,
        agent_name: body.agent_name,
        skill_id: skill.id,
      }))
    return { status: 'ok', removed }
  },
})
