import type { Queryable } from './db.ts'

/**
 * The table `distinct_keys` (org_id, id) for a `with recursive`: which pairs of an organization and this column a
 * table has. It is read from an index that begins with both, once for each pair and not for each row.
 */
export function distinctKeys(sql: Queryable, table: string, column: string) {
  const [of, id] = [sql(table), sql(column)]
  return sql`distinct_keys (org_id, id) as (
      (select org_id, ${id} from ${of} order by org_id, ${id} limit 1)
      union all
      select n.* from distinct_keys k, lateral (
        select org_id, ${id} from ${of} where (org_id, ${id}) > (k.org_id, k.id)
        order by org_id, ${id} limit 1) as n)`
}
