import Joi from 'joi'
import { forkNames } from '../../jobs/rules/skills/fork-name.ts'
import type { Transaction } from '../../sql/core/db.ts'
import {
  findInstalled,
  insertInstall,
  lockInstall,
  lockPublicVersion,
  takeFilesOf,
} from '../../sql/skills/public-skills.ts'
import type { PublicSkillRow } from '../../sql/skills/public-skills.ts'
import { copyFiles } from '../../sql/skills/skill-files.ts'
import { nextVersion, readBodies } from '../../sql/skills/skill-versions.ts'
import { findSkills, lockSkills, readEval } from '../../sql/skills/skills.ts'
import type { SkillRow } from '../../sql/skills/skills.ts'
import { addSkills, newSkill } from '../../sql/transactions/add-skills.ts'
import type { ApiContext } from '../context.ts'
import { ApiError, notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { detailsOf } from './members.ts'
import { findVisibleSkill, nameTaken, newestVersion, skillConflict, withinRoom } from './skill.ts'

export const forkedSkill = Joi.object({
  id: Joi.string().guid().required(),
  name: Joi.string().required(),
}).label('ForkedSkill')

export const forkBody = Joi.object({
  status: Joi.string().valid('ok').required(),
  skill: forkedSkill.required(),
  forked_from_skill_id: Joi.string().guid().required(),
  forked_at_version_id: Joi.string().guid().required(),
}).label('SkillFork')

/**
 * Copies a public skill, as it is served, into a skill of the organization. One of another organization is
 * installed, once; an own one is copied like those that are not public.
 * @param named default the first free of its name, its name with -2, and so on
 * @throws ApiError as `installSkill`, and 409 where the organization has installed it, with the name in
 *   X-Installed-As
 */
export async function forkPublic(
  tx: Transaction,
  context: ApiContext,
  principal: Principal,
  source: PublicSkillRow,
  named: string | undefined,
) {
  const { orgId } = principal
  if (source.org_id === orgId) {
    const own = await findVisibleSkill(tx, principal, source.skill_id)
    return copySkill(tx, context, principal, own, { named, versionId: source.version_id })
  }
  await lockInstall(tx, orgId, source.skill_id)
  await refuseSecond(tx, orgId, source.skill_id)
  return installSkill(tx, context, principal, source, named)
}

/**
 * Copies body, files and public details of a skill, which the transaction has locked by `lockInstall` and
 * which is not installed.
 * @throws ApiError 404 for a version that is public no more, 409 for a name that is taken
 */
export async function installSkill(
  tx: Transaction,
  { queue }: ApiContext,
  { orgId, keyId, keyLabel }: Principal,
  source: PublicSkillRow,
  named?: string,
) {
  const name = await lockForkName(tx, orgId, source.name, named)
  if (!(await lockPublicVersion(tx, source.version_id))) throw notFound('Skill')
  const { display_name, category, description, invocation, stability, frontmatter } = source
  const details = { display_name, category, description, invocation, stability, frontmatter }
  const skill = newSkill({
    name,
    ...details,
    trigger_phrases: [],
    eval_yaml: source.eval_yaml,
    forked_from_skill_id: source.skill_id,
    forked_at_version_id: source.version_id,
    created_by: keyId,
  })
  const made = { body: source.body, origin: 'fork', author: keyLabel } as const
  const version = nextVersion(skill.id, undefined, made)
  await withinRoom(addSkills(tx, queue, orgId, [{ skill, version }]))
  await takeFilesOf(tx, orgId, version.id, source)
  await insertInstall(tx, orgId, source.skill_id, skill.id)
  return viewFork(skill, source.skill_id, source.version_id)
}

/**
 * Copies a version of a skill of the organization, by default the newest.
 * @throws ApiError 409 for a name that is taken
 */
export async function copySkill(
  tx: Transaction,
  { queue }: ApiContext,
  { orgId, keyId, keyLabel }: Principal,
  source: SkillRow,
  { named, versionId }: { named: string | undefined; versionId?: string },
) {
  const name = await lockForkName(tx, orgId, source.name, named)
  const copiedId = versionId ?? (await newestVersion(tx, orgId, source.id)).id
  const skill = newSkill({
    name,
    ...detailsOf({}, source),
    eval_yaml: await readEval(tx, orgId, source.id),
    forked_from_skill_id: source.id,
    forked_at_version_id: copiedId,
    created_by: keyId,
  })
  const body = (await readBodies(tx, orgId, [copiedId])).get(copiedId) ?? ''
  const version = nextVersion(skill.id, undefined, { body, origin: 'fork', author: keyLabel })
  await withinRoom(addSkills(tx, queue, orgId, [{ skill, version }]))
  await copyFiles(tx, orgId, [copiedId], [version.id])
  return viewFork(skill, source.id, copiedId)
}

/** Locks the names that the copy can have and chooses. */
async function lockForkName(
  tx: Transaction,
  orgId: string,
  name: string,
  named: string | undefined,
) {
  const names = named === undefined ? forkNames(name) : [named]
  await lockSkills(tx, orgId, names)
  const taken = await findSkills(tx, orgId, names)
  const free = names.find((each) => !taken.has(each))
  if (free !== undefined) return free
  throw await nameTaken(tx, orgId, taken.get(named ?? name) as SkillRow)
}

async function refuseSecond(tx: Transaction, orgId: string, skillId: string) {
  const installed = await findInstalled(tx, orgId, skillId)
  if (!installed) return
  const newest = await newestVersion(tx, orgId, installed.id)
  const message = `The skill is installed as ${installed.name}`
  const { status, code, members } = skillConflict(message, installed, newest)
  const headers = { 'X-Installed-As': installed.name }
  throw new ApiError(status, code, message, { members, headers })
}

function viewFork({ id, name }: { id: string; name: string }, from: string, at: string) {
  return {
    status: 'ok',
    skill: { id, name },
    forked_from_skill_id: from,
    forked_at_version_id: at,
  }
}
