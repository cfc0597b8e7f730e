import type { Sql } from '../../sql/core/db.ts'
import { until } from './until.ts'

/** Waits until nothing of the organization is queued or running but deliveries and sums, which come later. */
export async function settled(sql: Sql, orgId: string) {
  await until(async () => {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from pgboss.job
      where data->>'org_id' = ${orgId} and state in ('created', 'retry', 'active')
        and name not in ('webhook.deliver', 'evals.aggregate')`
    return row?.n === 0
  })
}
