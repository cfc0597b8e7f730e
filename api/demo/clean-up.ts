import Joi from 'joi'
import { DEMO_AGENT, DEMO_SKILLS_AGENT } from '../../jobs/rules/demo/fixture.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findOwners } from '../../sql/demo/demo-agents.ts'
import { lockAgent } from '../../sql/manifests/manifests.ts'
import type { AgentKey } from '../../sql/manifests/manifests.ts'
import { removeDemoAgent } from '../../sql/transactions/remove-demo-agent.ts'
import { removeSkill } from '../../sql/transactions/remove-skill.ts'
import { endpoint } from '../endpoint.ts'
import { conflictBody, errorBody, projectQuery } from '../fields.ts'
import { findWritableProject } from '../projects.ts'
import { lockDemoSkills } from './demo-skills.ts'
import { agentTaken, fixtureField } from './demo.ts'

const count = Joi.number().integer().required()

export const cleanUp = endpoint('DELETE', '/demo/cleanup', {
  summary: 'Take out of the organization what the demo has put in, and nothing else',
  description:
    'The skills, and the agents of the project that the key writes to or of the one named, with what was computed of them, such as regression checks. Nothing is left to be done when it is called again. 409 where somebody has added manifests or traces of their own to an agent: then that agent stays as it is.',
  access: 'key',
  query: projectQuery,
  answers: {
    200: Joi.object({
      status: Joi.string().valid('cleaned').required(),
      manifests: count,
      traces: count.description('Of the agent whose second version breaks traffic'),
      skills: Joi.object({ skills: count, traces: count }).required().label('RemovedDemoSkills'),
      fixture: fixtureField,
    }).label('RemovedDemo'),
    404: errorBody,
    409: conflictBody,
  },
  async handle({ context: { sql, queue }, principal, query }) {
    const { orgId } = principal
    const project = await findWritableProject(sql, principal, query.project)
    const agentOf = (agentName: string) => project && { orgId, projectId: project.id, agentName }
    // A transaction locks one agent alone.
    const impact = await queue.transaction(sql, (tx: Transaction) =>
      removeAgent(tx, queue, agentOf(DEMO_AGENT)),
    )
    const skills = await queue.transaction(sql, async (tx: Transaction) => {
      const { demo } = await lockDemoSkills(tx, orgId)
      const { traces } = await removeAgent(tx, queue, agentOf(DEMO_SKILLS_AGENT))
      for (const { id } of demo) await removeSkill(tx, orgId, id)
      return { skills: demo.length, traces }
    })
    return { status: 'cleaned', ...impact, skills, fixture: true }
  },
})

/** An agent of the organization's own stays. @throws ApiError 409 for one that is the demo's, too */
async function removeAgent(tx: Transaction, queue: Queue, agent: AgentKey | undefined) {
  if (!agent) return NOTHING
  await lockAgent(tx, agent)
  const { has_own, has_demo } = await findOwners(tx, agent)
  if (has_own && has_demo) throw agentTaken(agent)
  return has_demo ? removeDemoAgent(tx, queue, agent) : NOTHING
}

const NOTHING = { traces: 0, manifests: 0 }
