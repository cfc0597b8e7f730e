import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import type { Queryable } from '../core/db.ts'

/**
 * The newest form of contents that all releases read which the database serves: those that read only the
 * whole one are served until `traces` is partitioned.
 */
export async function findContentForm(sql: Queryable): Promise<ContentForm> {
  const [found] = await sql<{ is_partitioned: boolean }[]>`
    select exists (select from pg_inherits where inhparent = 'traces'::regclass) as is_partitioned`
  return found?.is_partitioned ? 'shared' : 'whole'
}
