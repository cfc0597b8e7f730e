import Joi from 'joi'
import { listOf, shape, text } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { orderBytes } from '../../jobs/rules/core/order.ts'
import { findInstalled, lockInstall } from '../../sql/skills/public-skills.ts'
import type { PublicSkillRow } from '../../sql/skills/public-skills.ts'
import { upsertAssignment } from '../../sql/skills/skill-assignments.ts'
import type { AssignmentRow } from '../../sql/skills/skill-assignments.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { commaSeparated, conflictBody, errorBody, projectField } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { writableProject } from '../projects.ts'
import { forkedSkill, installSkill } from './fork.ts'
import { findServed, publicPath } from './public-skill.ts'
import { lockVisibleSkill, newestVersion } from './skill.ts'
import { agentField, subscriptionBody, viewSubscription } from './subscription.ts'
import { versionField } from './version.ts'

const agents = listOf(agentField).max(50).unique()

const members = {
  version: versionField,
  // Clients have words of their own here.
  mode: text(32).description(
    'pinned: the agents are held to the present version of the copy. Any other word, such as latest: they follow it',
  ),
  project: projectField,
}

const usedBody = Joi.object({
  status: Joi.string().valid('ok').required(),
  installed: Joi.boolean().required().description('False where the organization had it'),
  skill: forkedSkill.required(),
  subscriptions: listOf(subscriptionBody).required(),
}).label('SkillUse')

export const usePublicSkill = endpoint('POST', '/registry/skills/{skill_id}/use', {
  summary: 'Install a public skill and have agents use it',
  description:
    'The agents use the copy of the organization. A skill that is installed already, in whatever version, is only assigned, and so is an own one. 201 when it was installed, else 200.',
  access: 'key',
  params: publicPath,
  query: shape(
    {},
    { ...members, agents: commaSeparated(agents).description('Separated by commas') },
  ),
  body: shape({}, { ...members, agents })
    .label('SkillUseRequest')
    .example({ agents: ['shop-agent'], mode: 'pinned' }),
  answers: { 200: usedBody, 201: usedBody, 404: errorBody, 409: conflictBody },
  async handle({ context, principal, params, query, body }) {
    const { version, agents = [], mode, project } = { ...query, ...body }
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      const source = await findServed(tx, params.skill_id, version)
      const before = await findHeld(tx, principal, source)
      const skill = before ?? (await installSkill(tx, context, principal, source)).skill
      const rows = await assign(tx, principal, skill.id, { agents, mode, project })
      const subscriptions = rows.map((row) => viewSubscription(skill, row))
      const { id, name } = skill
      const used = { status: 'ok', installed: !before, skill: { id, name }, subscriptions }
      return new Answer(before ? 200 : 201, used)
    })
  },
})

/** The organization's own skill, or its installation of it. Neither is made or deleted meanwhile. */
async function findHeld(tx: Transaction, principal: Principal, source: PublicSkillRow) {
  const { orgId } = principal
  if (source.org_id === orgId) return lockVisibleSkill(tx, principal, source.skill_id)
  await lockInstall(tx, orgId, source.skill_id)
  const installed = await findInstalled(tx, orgId, source.skill_id)
  return installed && lockVisibleSkill(tx, principal, installed.id)
}

async function assign(
  tx: Transaction,
  principal: Principal,
  skill_id: string,
  { agents, mode, project }: Users,
) {
  if (agents.length === 0) return []
  const { orgId, keyId } = principal
  const { id: project_id } = await writableProject(tx, principal, project)
  const version_id = mode === 'pinned' ? (await newestVersion(tx, orgId, skill_id)).id : null
  const assignment = { project_id, skill_id, version_id }
  const rows: AssignmentRow[] = []
  // In one order, so that two who assign the same agents never wait for each other.
  for (const agent_name of agents.toSorted(orderBytes)) {
    const assigned = { ...assignment, agent_name, created_by_key_id: keyId }
    rows.push((await upsertAssignment(tx, orgId, assigned)).row)
  }
  return rows
}

interface Users {
  readonly agents: readonly string[]
  readonly mode: string | undefined
  /** Id or name. */
  readonly project: string | undefined
}
