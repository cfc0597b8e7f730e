import Joi from 'joi'
import { DEMO_SKILLS_AGENT } from '../../jobs/rules/demo/fixture.ts'
import { DEMO_SKILLS, makeSkillTraces } from '../../jobs/rules/demo/skills.ts'
import type { DemoSkill } from '../../jobs/rules/demo/skills.ts'
import { listOf } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { nextVersion } from '../../sql/skills/skill-versions.ts'
import { addSkills, newSkill } from '../../sql/transactions/add-skills.ts'
import { removeDemoAgent } from '../../sql/transactions/remove-demo-agent.ts'
import { removeSkill } from '../../sql/transactions/remove-skill.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { conflictBody, errorBody } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { writableProject } from '../projects.ts'
import { defaultDetails } from '../skills/members.ts'
import { nameTaken, withinRoom } from '../skills/skill.ts'
import { lockDemoSkills } from './demo-skills.ts'
import { fixtureField, lockDemoAgent, putTraces, readTraces, seedQuery } from './demo.ts'

const seededBody = Joi.object({
  status: Joi.string().valid('created', 'already_exists').required(),
  message: Joi.string().required(),
  skill_names: listOf(Joi.string()).required().description('The best first'),
  top_skill_id: Joi.string().guid().required(),
  top_skill_name: Joi.string().required(),
  traces: Joi.number().integer().required().description('Stored by this request'),
  fixture: fixtureField,
}).label('SeededSkills')

export const seedSkills = endpoint('POST', '/demo/seed-skills', {
  summary: 'Put three skills into the organization, and traces that used them',
  description:
    'For whoever tries the analytics of skills. The skills are private. Counts against no quota. A skill that was changed or published since is the organization’s own. 409 where it has one of its own by one of the names.',
  access: 'key',
  query: seedQuery,
  answers: { 200: seededBody, 201: seededBody, 400: errorBody, 404: errorBody, 409: conflictBody },
  async handle({ context, principal, query }) {
    const sent = await readTraces(context, makeSkillTraces(context.now()))
    const { queue } = context
    return queue.transaction(context.sql, async (tx: Transaction) => {
      const { orgId } = principal
      const project = await writableProject(tx, principal, query.project)
      const { demo: there, own } = await lockDemoSkills(tx, orgId)
      if (own[0]) throw await nameTaken(tx, orgId, own[0])
      const [top] = there
      if (top && there.length === DEMO_SKILLS.length && !query.force) {
        return view('already_exists', 'The demo skills are there already', top.id, 0)
      }
      const agent = { orgId, projectId: project.id, agentName: DEMO_SKILLS_AGENT }
      await lockDemoAgent(tx, agent)
      for (const { id } of there) await removeSkill(tx, orgId, id)
      await removeDemoAgent(tx, queue, agent)
      const added = DEMO_SKILLS.map((skill) => describe(skill, principal))
      await withinRoom(addSkills(tx, queue, orgId, added))
      await putTraces(tx, queue, agent, sent)
      const id = added[0]?.skill.id ?? ''
      return new Answer(
        201,
        view('created', 'Read how they do: GET /skills/analytics/leaderboard', id, sent.length),
      )
    })
  },
})

function describe({ name, description, body }: DemoSkill, { keyId, keyLabel }: Principal) {
  const details = { ...defaultDetails(name, body), description }
  const skill = newSkill({ name, ...details, is_fixture: true, created_by: keyId })
  const made = { body, origin: 'create', author: keyLabel } as const
  return { skill, version: nextVersion(skill.id, undefined, made) }
}

function view(status: string, message: string, topId: string, traces: number) {
  const skill_names = DEMO_SKILLS.map(({ name }) => name)
  const top = { top_skill_id: topId, top_skill_name: skill_names[0] }
  return { status, message, skill_names, ...top, traces, fixture: true }
}
