import type { Queryable } from '../core/db.ts'

/**
 * Joins to version `v` its `shown` safety: `band` and `reason_codes`. A review wins over the scan, and
 * a scan counts while the files of the version are those that it saw.
 */
export function shownSafety(sql: Queryable) {
  return sql`cross join lateral (
    select coalesce(
        (select r.band from skill_reviews r
          where r.org_id = v.org_id and r.version_id = v.id
          order by r.created_at desc, r.id desc limit 1),
        scan.band, 'unreviewed') as band,
      coalesce(scan.reason_codes, '{}') as reason_codes
    from (select) one left join skill_scans scan
      on scan.org_id = v.org_id and scan.version_id = v.id and scan.revision = v.revision
  ) shown`
}
