import Joi from 'joi'
import { forkNames } from '../../jobs/rules/skills/fork-name.ts'
import { int, shape, textReference } from '../../jobs/shape.ts'
import type { Queryable, Transaction } from '../../sql/core/db.ts'
import {
  findInstalled,
  findPublicSkill,
  insertInstall,
  takeFilesOf,
} from '../../sql/skills/public-skills.ts'
import type { PublicSkillRow } from '../../sql/skills/public-skills.ts'
import { copyFiles } from '../../sql/skills/skill-files.ts'
import { nextVersion, readBodies } from '../../sql/skills/skill-versions.ts'
import { findSkills, lockSkills } from '../../sql/skills/skills.ts'
import type { SkillRow } from '../../sql/skills/skills.ts'
import { addSkills, newSkill } from '../../sql/transactions/add-skills.ts'
import type { ApiContext } from '../context.ts'
import { ApiError, notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { detailsOf } from './members.ts'
import { nameTaken, newestVersion, skillConflict, withinRoom } from './skill.ts'
import { readVersionReference } from './version.ts'

/** What names a public skill in a request. */
export const publicReference = textReference().description(
  'Id, url slug, or owner/name (with %2F in a path)',
)
export const publicVersion = Joi.alternatives<string | number>(
  int(1, 999_999_999),
  textReference(),
).description('Number or id, or latest, which is the default')

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

export const publicPath = shape({ skill_id: publicReference })

/**
 * The version of a public skill that is to be installed.
 * @param version as `publicVersion`
 * @throws ApiError 404 also for one that is blocked or withdrawn
 */
export async function findInstallable(
  sql: Queryable,
  reference: string,
  version: string | number | undefined,
) {
  const by = readVersionReference(version?.toString())
  const source = by && (await findPublicSkill(sql, reference, by === 'latest' ? undefined : by))
  if (!source) throw notFound('Skill')
  return source
}

/**
 * Installs a public skill: copies its body, files and public details into a skill of the organization.
 * @param named default the first free of its name, its name with -2, and so on
 * @throws ApiError 409 where the organization has it, with its name in X-Installed-As; or has the name
 */
export async function installSkill(
  tx: Transaction,
  { queue }: ApiContext,
  principal: Principal,
  source: PublicSkillRow,
  named: string | undefined,
) {
  const { orgId, keyId, keyLabel } = principal
  const name = await lockForkName(tx, orgId, source.name, named)
  await refuseSecond(tx, orgId, source.skill_id)
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
  // Another request may have installed it under another name at the same moment.
  if (!(await insertInstall(tx, orgId, source.skill_id, skill.id))) {
    await refuseSecond(tx, orgId, source.skill_id)
  }
  return viewFork(skill, source.skill_id, source.version_id)
}

/** Copies the newest version of a skill of the organization. @throws ApiError 409 for a name that is taken */
export async function copySkill(
  tx: Transaction,
  { queue }: ApiContext,
  { orgId, keyId, keyLabel }: Principal,
  source: SkillRow,
  named: string | undefined,
) {
  const name = await lockForkName(tx, orgId, source.name, named)
  const newest = await newestVersion(tx, orgId, source.id)
  const skill = newSkill({
    name,
    ...detailsOf({}, source),
    forked_from_skill_id: source.id,
    forked_at_version_id: newest.id,
    created_by: keyId,
  })
  const body = (await readBodies(tx, orgId, [newest.id])).get(newest.id) ?? ''
  const version = nextVersion(skill.id, undefined, { body, origin: 'fork', author: keyLabel })
  await withinRoom(addSkills(tx, queue, orgId, [{ skill, version }]))
  await copyFiles(tx, orgId, [newest.id], [version.id])
  return viewFork(skill, source.id, newest.id)
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
