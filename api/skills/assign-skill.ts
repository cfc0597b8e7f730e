import Joi from 'joi'
import { isWithheld } from '../../jobs/rules/skills/resolution.ts'
import { shape } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findResolvedVersions } from '../../sql/skills/resolved-versions.ts'
import type { CandidateRow } from '../../sql/skills/candidates.ts'
import { upsertAssignment } from '../../sql/skills/skill-assignments.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { ApiError, notFound } from '../errors.ts'
import { errorBody, projectField, projectQuery } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { writableProject } from '../projects.ts'
import { lockVisibleSkill } from './skill.ts'
import {
  agentField,
  assignablePath,
  findAssignable,
  nameOf,
  subscriptionBody,
  viewSubscription,
} from './subscription.ts'
import { versionField, wantedVersion } from './version.ts'

const assignedBody = subscriptionBody
  .keys({ already: Joi.boolean().required().description('The agent used the skill before') })
  .label('AssignedSkill')

export const assignSkill = endpoint('POST', '/skills/{skill_name}/assign', {
  summary: 'Have an agent use a skill',
  description:
    'An own one, or another organization’s public one. With a version the agent is held to that one; without, it uses the latest. Sent again it changes the version, and is answered 200.',
  access: 'key',
  aliases: ['/skills/{skill_name}/subscribe'],
  params: assignablePath,
  query: projectQuery,
  body: shape(
    { agent_name: agentField },
    {
      version: versionField,
      project: projectField,
    },
  )
    .label('AssignmentRequest')
    .example({ agent_name: 'shop-agent', version: 2 }),
  answers: { 200: assignedBody, 201: assignedBody, 404: errorBody, 409: errorBody },
  async handle({ context, principal, params, query, body }) {
    return context.sql.begin(async (tx: Transaction) => {
      const skill = await findAssignable(tx, principal, params.skill_name)
      // So that it is not deleted meanwhile.
      if (skill.scope === 'own') await lockVisibleSkill(tx, principal, skill.skill_id)
      const version_id = await readPin(tx, principal, skill, body.version)
      const project = await writableProject(tx, principal, query.project)
      const { row, isNew } = await upsertAssignment(tx, principal.orgId, {
        project_id: project.id,
        agent_name: body.agent_name,
        skill_id: skill.skill_id,
        version_id,
        created_by_key_id: principal.keyId,
      })
      const subscribed = { id: skill.skill_id, name: nameOf(skill) }
      const view = { ...viewSubscription(subscribed, row), already: !isNew }
      return new Answer(isNew ? 201 : 200, view)
    })
  },
})

/**
 * The version that the agent is held to; null for the latest.
 * @throws ApiError 404, 409 where the caller would not be served it
 */
async function readPin(
  tx: Transaction,
  { orgId }: Principal,
  skill: CandidateRow,
  version: string | number = 'latest',
) {
  const wanted = wantedVersion(skill, version)
  const [found] = wanted
    ? await findResolvedVersions(tx, { orgId, projectIds: null }, [wanted])
    : []
  if (!found) throw notFound('Version')
  const { band, is_held: isHeld } = found
  if (isWithheld({ scope: skill.scope, band, isHeld })) {
    throw new ApiError(409, 'withheld', 'This version of the skill is withheld for safety')
  }
  return version === 'latest' ? null : found.version_id
}
