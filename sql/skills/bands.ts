import { SCANNER_VERSION } from '../../jobs/rules/skills/scan/scan-skill.ts'
import type { Fragment, Queryable } from '../core/db.ts'

/**
 * Joins to version `v` its `shown` safety: `band` and `reason_codes`. A review that counts wins over the
 * scan, and a scan counts while the content of the version is what it saw. `rescan_due` is among the codes
 * while only an earlier scanner has looked.
 */
export function shownSafety(sql: Queryable) {
  return sql`cross join lateral (
    select coalesce(
        ${reviewedBand(sql, sql`v`)}, scan.band, 'unreviewed') as band,
      coalesce(scan.reason_codes, '{}')
        || case when scan.scanner_version < ${SCANNER_VERSION} then array['rescan_due'] else '{}' end
        as reason_codes
    from (select) one left join skill_scans scan
      on scan.org_id = v.org_id and scan.version_id = v.id and scan.revision = v.revision
  ) shown`
}

/**
 * What an operator decided last of a version: what blocks it holds whatever becomes of it, and what lets it
 * through does for the content that was looked at. Null where nothing counts.
 * @param since the oldest revision of which a decision counts; default the present one
 */
export function reviewedBand(
  sql: Queryable,
  version: Fragment,
  since: Fragment = sql`${version}.revision`,
) {
  return sql`(
    select r.band from skill_reviews r
    where r.org_id = ${version}.org_id and r.version_id = ${version}.id
      and (r.band = 'blocked' or r.revision >= ${since})
    order by r.created_at desc, r.id desc limit 1)`
}
