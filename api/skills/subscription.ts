import Joi from 'joi'
import { isUuid } from '../../jobs/rules/core/uuid.ts'
import { chooseSkill, foldReference, lookupsOf } from '../../jobs/rules/skills/skill-lookup.ts'
import { shape, text, textReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findCandidates } from '../../sql/skills/candidates.ts'
import type { CandidateRow } from '../../sql/skills/candidates.ts'
import { findAssignedSkill } from '../../sql/skills/skill-assignments.ts'
import type { AssignmentRow } from '../../sql/skills/skill-assignments.ts'
import { badRequest, notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { readableProjects } from '../projects.ts'

export const assignablePath = shape({
  skill_name: textReference().description(
    'Name or id of an own skill; or id, owner/name (with %2F), url slug or name of a public one',
  ),
})

export const agentField = text().min(1)

export const subscriptionBody = Joi.object({
  agent_name: Joi.string().required(),
  project_id: Joi.string().guid().required(),
  skill_id: Joi.string().guid().required(),
  skill_name: Joi.string()
    .required()
    .description(
      'owner/name of another organization’s skill, its url slug when it is public no more',
    ),
  version_id: nullable(Joi.string().guid()).description('Null for the latest'),
  subscribed_at: times.required(),
  subscribed_by_user_id: Joi.any().valid(null).required().description('Keys act, not users'),
  subscribed_by_key_id: nullable(Joi.string().guid()),
}).label('SkillSubscription')

/** What is subscribed to. */
export interface SubscribedSkill {
  readonly id: string
  readonly name: string
}

export function viewSubscription({ id, name }: SubscribedSkill, row: AssignmentRow) {
  const { created_at, created_by_key_id, ...assignment } = row
  return {
    ...assignment,
    skill_id: id,
    skill_name: name,
    subscribed_at: created_at,
    subscribed_by_user_id: null,
    subscribed_by_key_id: created_by_key_id,
  }
}

/**
 * A skill that an agent can be given: an own one, else one that is used, else a public one.
 * @throws ApiError 404, 400 where several answer to the reference
 */
export async function findAssignable(sql: Queryable, principal: Principal, reference: string) {
  const found = await findByReference(sql, principal, reference)
  if (!found) throw notFound('Skill')
  return found
}

/**
 * A skill whose text a caller is given. One of another organization that no agent was assigned answers to
 * its full name alone: anybody can publish a skill under a name that an agent happens to ask for.
 * @throws ApiError 404, and 409 for a name that several have
 */
export async function findReadable(sql: Queryable, principal: Principal, reference: string) {
  const asked = foldReference(reference)
  const found = await findByReference(sql, principal, reference, (candidate) => {
    const { scope, skill_id, registry_name, url_slug } = candidate
    return scope !== 'public' || [skill_id, registry_name, url_slug].includes(asked)
  })
  if (!found) throw notFound('Skill')
  return found
}

/**
 * As `findAssignable`, or one that an agent was given and that is public no more.
 * @throws ApiError 404, and 409 for a name that several have
 */
export async function findSubscribed(
  sql: Queryable,
  principal: Principal,
  reference: string,
): Promise<SubscribedSkill> {
  const { orgId } = principal
  const found = await findByReference(sql, principal, reference)
  if (found) return { id: found.skill_id, name: nameOf(found) }
  const by = isUuid(reference) ? { id: reference } : { urlSlug: foldReference(reference) }
  const assigned = await findAssignedSkill(sql, orgId, by)
  if (!assigned) throw notFound('Skill')
  return { id: assigned.id, name: assigned.url_slug ?? assigned.id }
}

export function nameOf({ scope, name, registry_name }: CandidateRow) {
  return scope === 'own' ? name : registry_name
}

async function findByReference(
  sql: Queryable,
  principal: Principal,
  reference: string,
  isMeant: (candidate: CandidateRow) => boolean = () => true,
) {
  const projectIds = await readableProjects(sql, principal, undefined)
  const lookups = lookupsOf(reference, {})
  const candidates = await findCandidates(sql, { orgId: principal.orgId, projectIds }, lookups)
  const answers = Map.groupBy(candidates.filter(isMeant), ({ lookup }) => lookup)
  const choice = chooseSkill(lookups.map((_, i) => answers.get(i) ?? []))
  if (choice.chosen || choice.error === 'not_found') return choice.chosen
  throw badRequest(`Several skills answer to this name; name one of ${choice.names.join(', ')}`)
}
