import Joi from 'joi'
import { isUuid } from '../../jobs/rules/core/uuid.ts'
import { foldReference } from '../../jobs/rules/skills/skill-lookup.ts'
import {
  BANDS,
  INVOCATIONS,
  MAX_SKILLS,
  MAX_VERSIONS,
  STABILITIES,
} from '../../jobs/rules/skills/skill.ts'
import { listOf, oneOf, shape, textReference } from '../../jobs/shape.ts'
import type { Queryable, Transaction } from '../../sql/core/db.ts'
import { findRegistryMarks } from '../../sql/skills/registry-marks.ts'
import { findNewest } from '../../sql/skills/skill-versions.ts'
import type { SkillVersionRow } from '../../sql/skills/skill-versions.ts'
import { findSkill, lockSkills } from '../../sql/skills/skills.ts'
import type { SkillReference, SkillRow } from '../../sql/skills/skills.ts'
import { TooManySkills } from '../../sql/transactions/add-skills.ts'
import { ApiError, badRequest, conflictWith, notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'

export const skillName = textReference().description(
  'Name or id; GET takes skills called hashes or menu by id only',
)
export const skillPath = shape({ skill_name: skillName })

export const skillBody = Joi.object({
  id: Joi.string().guid().required(),
  name: Joi.string().required(),
  display_name: nullable(Joi.string()),
  description: Joi.string().required(),
  category: nullable(Joi.string()),
  stability: Joi.string()
    .valid(...STABILITIES)
    .required(),
  invocation: Joi.string()
    .valid(...INVOCATIONS)
    .required()
    .description('Who may start it'),
  trigger_phrases: listOf(Joi.string()).required(),
  frontmatter: Joi.object().unknown(true).required().description('Without name and description'),
  visibility: Joi.string().valid('private', 'public').required(),
  url_slug: nullable(Joi.string()).description(
    'Its public name, which it keeps; null when it never was public',
  ),
  forked_from_skill_id: nullable(Joi.string().guid()),
  forked_at_version_id: nullable(Joi.string().guid()),
  has_upstream_update: Joi.boolean()
    .required()
    .description('The skill it is a copy of has a public version that was neither taken nor seen'),
  is_active: Joi.boolean().required().description('Always true: one that is deleted is not there'),
  fixture: Joi.boolean()
    .required()
    .description('Made by POST /demo/seed-skills, and neither changed nor published since'),
  latest_version: Joi.object({
    id: Joi.string().guid().required(),
    version_number: Joi.number().integer().required(),
    content_hash: Joi.string().required().description('SHA-256 of the body, in hex'),
    safety_band: oneOf(...BANDS).required(),
    created_at: times.required(),
  })
    .required()
    .label('LatestSkillVersion'),
  created_at: times.required(),
  updated_at: times.required(),
}).label('Skill')

/** Skills as clients see them, in the same order. */
export async function viewSkills(sql: Queryable, orgId: string, rows: readonly SkillRow[]) {
  const viewOf = await findBeside(sql, orgId, rows)
  return rows.map((row) => viewOf(row))
}

export async function viewSkill(sql: Queryable, orgId: string, row: SkillRow) {
  const viewOf = await findBeside(sql, orgId, [row])
  return viewOf(row)
}

/** Reads what is shown beside the rows. @returns what views one of them */
async function findBeside(sql: Queryable, orgId: string, rows: readonly SkillRow[]) {
  const ids = rows.map(({ id }) => id)
  const [newest, marks] = await Promise.all([
    findNewest(sql, orgId, ids),
    findRegistryMarks(sql, orgId, ids),
  ])
  return ({ upstream_seen_version_id: _, created_by: __, is_fixture, ...row }: SkillRow) => ({
    ...row,
    url_slug: marks.get(row.id)?.url_slug ?? null,
    has_upstream_update: marks.get(row.id)?.has_upstream_update ?? false,
    is_active: true,
    fixture: is_fixture,
    latest_version: viewLatest(newestOf(newest, row.id)),
  })
}

/**
 * A skill of the caller's organization; any of its keys sees all of them.
 * @throws ApiError 404 for one that was deleted and one that never was, alike
 */
export async function findVisibleSkill(
  sql: Queryable,
  { orgId }: Principal,
  idOrName: string,
): Promise<SkillRow> {
  const skill = await findSkill(sql, orgId, referenceOf(idOrName))
  if (!skill) throw notFound('Skill')
  return skill
}

/** A name is meant in any case and width; none looks like an id. */
export function referenceOf(idOrName: string): SkillReference {
  return isUuid(idOrName) ? { id: idOrName } : { name: foldReference(idOrName) }
}

/** Locks a visible skill: nobody else writes it until the transaction ends. @throws ApiError 404 */
export async function lockVisibleSkill(tx: Transaction, principal: Principal, idOrName: string) {
  const { id, name } = await findVisibleSkill(tx, principal, idOrName)
  await lockSkills(tx, principal.orgId, [name])
  return findVisibleSkill(tx, principal, id)
}

/** The newest version of a skill. */
export async function newestVersion(sql: Queryable, orgId: string, skillId: string) {
  return newestOf(await findNewest(sql, orgId, [skillId]), skillId)
}

/** 409 that identifies the skill which has the name. */
export async function nameTaken(sql: Queryable, orgId: string, other: SkillRow) {
  const newest = await newestVersion(sql, orgId, other.id)
  return skillConflict('The organization has a skill of that name', other, newest)
}

/** What adding skills gives. @throws ApiError 400 where the organization may not have more */
export async function withinRoom<T>(adding: Promise<T>): Promise<T> {
  try {
    return await adding
  } catch (error) {
    if (!(error instanceof TooManySkills)) throw error
    throw badRequest(`An organization has at most ${MAX_SKILLS} skills`)
  }
}

/** @throws ApiError 409 where no version can follow the newest one */
export function requireNext({ version_number }: Pick<SkillVersionRow, 'version_number'>) {
  if (version_number < MAX_VERSIONS) return
  throw new ApiError(409, 'too_many_versions', `A skill has at most ${MAX_VERSIONS} versions`)
}

/** 409 that identifies a skill, and a version of it. */
export function skillConflict(
  message: string,
  { id, name }: Pick<SkillRow, 'id' | 'name'>,
  version: Pick<SkillVersionRow, 'id' | 'version_number'>,
) {
  return conflictWith(message, {
    type: 'skill',
    id,
    name,
    version: version.version_number,
    version_id: version.id,
  })
}

/** The newest version of a skill among those found: a skill and its first version are made together. */
export function newestOf(newest: ReadonlyMap<string, SkillVersionRow>, skillId: string) {
  const version = newest.get(skillId)
  if (!version) throw new Error(`Skill ${skillId} has no version`)
  return version
}

function viewLatest({ id, version_number, body_sha256, band, created_at }: SkillVersionRow) {
  const content_hash = body_sha256.toString('hex')
  return { id, version_number, content_hash, safety_band: band, created_at }
}
