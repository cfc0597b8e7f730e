import Joi from 'joi'
import { isUuid } from '../../jobs/rules/core/uuid.ts'
import { BANDS, ORIGINS } from '../../jobs/rules/skills/skill.ts'
import { int, shape, textReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import type { CandidateRow } from '../../sql/skills/candidates.ts'
import type { WantedVersion } from '../../sql/skills/resolved-versions.ts'
import { findVersion, readBodies } from '../../sql/skills/skill-versions.ts'
import type { SkillVersionRow } from '../../sql/skills/skill-versions.ts'
import { notFound } from '../errors.ts'
import { nullable, times } from '../fields.ts'
import { findingsMembers, viewFindings } from './findings.ts'
import { newestVersion, skillName } from './skill.ts'

const fields = {
  id: Joi.string().guid().required(),
  version_number: Joi.number().integer().required().description('From 1'),
  content_hash: Joi.string().required().description('SHA-256 of the body, in hex'),
  change_summary: nullable(Joi.string()),
  author: nullable(Joi.string()),
  origin: Joi.string()
    .valid(...ORIGINS)
    .required(),
  parent_version_id: nullable(Joi.string().guid()),
  restored_from_version_id: nullable(Joi.string().guid()).description(
    'An older version that has the same body',
  ),
  frozen: Joi.boolean().required().description('Its files change no more'),
  safety_band: Joi.string()
    .valid(...BANDS)
    .required(),
  created_at: times.required(),
}

/** In lists: the body can be large. */
export const versionSummary = Joi.object(fields).label('SkillVersionSummary')
export const versionBody = Joi.object({
  ...fields,
  body_markdown: Joi.string().allow('').required(),
  safety: Joi.object(findingsMembers).required().label('SkillVersionSafety'),
}).label('SkillVersion')

export const versionReference = textReference().description('Number or id, or latest')
export const versionField = Joi.alternatives<string | number>(
  int(1, 999_999_999),
  textReference(),
).description('Number or id, or latest, which is the default')
export const versionPath = shape({ skill_name: skillName, version_number: versionReference })

export function viewVersion(row: SkillVersionRow) {
  const { skill_id: _, body_sha256, revision: __, band, reason_codes: ___, ...version } = row
  return { ...version, content_hash: body_sha256.toString('hex'), safety_band: band }
}

/** A version with its body, and what the safety scan found in it. */
export async function viewWholeVersion(sql: Queryable, orgId: string, row: SkillVersionRow) {
  const [bodies, safety] = await Promise.all([
    readBodies(sql, orgId, [row.id]),
    viewFindings(sql, orgId, row),
  ])
  return { ...viewVersion(row), body_markdown: bodies.get(row.id) ?? '', safety }
}

/** @param reference as `readVersionReference`. @throws ApiError 404 */
export async function findVisibleVersion(
  sql: Queryable,
  orgId: string,
  skillId: string,
  reference: string | number | undefined,
): Promise<SkillVersionRow> {
  const by = readVersionReference(reference)
  if (by === 'latest') return newestVersion(sql, orgId, skillId)
  const version = by && (await findVersion(sql, orgId, skillId, by))
  if (!version) throw notFound('Version')
  return version
}

/** Reads a number, an id, or latest, which is the default; undefined for what can be no version. */
export function readVersionReference(said: string | number = 'latest') {
  const reference = String(said)
  if (reference === 'latest') return reference
  // Nine digits fit into the type `int` of the database.
  if (/^\d{1,9}$/.test(reference)) return { number: Number(reference) }
  return isUuid(reference) ? { id: reference } : undefined
}

/** The version of a skill that a reference means, to be looked up; undefined for what can be none. */
export function wantedVersion(
  { skill_id, scope }: CandidateRow,
  reference: string | number | undefined,
): WantedVersion | undefined {
  const by = readVersionReference(reference)
  if (!by) return undefined
  const latest = { skill_id, is_own: scope === 'own' }
  if (by === 'latest') return latest
  return 'id' in by ? { ...latest, version_id: by.id } : { ...latest, version_number: by.number }
}
