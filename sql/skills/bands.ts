import { SCANNER_VERSION } from '../../jobs/rules/skills/scan/scan-skill.ts'
import type { Queryable } from '../core/db.ts'

/**
 * Joins to version `v` its `shown` safety: `band` and `reason_codes`. A review wins over the scan, and
 * a scan counts while the files of the version are those that it saw. `rescan_due` is among the codes
 * while only an earlier scanner has looked.
 */
export function shownSafety(sql: Queryable) {
  return sql`cross join lateral (
    select coalesce(
        (select r.band from skill_reviews r
          where r.org_id = v.org_id and r.version_id = v.id
          order by r.created_at desc, r.id desc limit 1),
        scan.band, 'unreviewed') as band,
      coalesce(scan.reason_codes, '{}')
        || case when scan.scanner_version < ${SCANNER_VERSION} then array['rescan_due'] else '{}' end
        as reason_codes
    from (select) one left join skill_scans scan
      on scan.org_id = v.org_id and scan.version_id = v.id and scan.revision = v.revision
  ) shown`
}
