import { shape, textReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findPublicSkill } from '../../sql/skills/public-skills.ts'
import { notFound } from '../errors.ts'
import { readVersionReference } from './version.ts'

/** What names a public skill in a request. */
export const publicReference = textReference().description(
  'Id, url slug, or owner/name (with %2F in a path)',
)

export const publicPath = shape({ skill_id: publicReference })

/**
 * The version of a public skill that is served.
 * @param version as `versionField`
 * @throws ApiError 404 also for one that is blocked or withdrawn
 */
export async function findServed(sql: Queryable, reference: string, version?: string | number) {
  const by = readVersionReference(version)
  const served = by && (await findPublicSkill(sql, reference, by === 'latest' ? undefined : by))
  if (!served) throw notFound('Skill')
  return served
}
