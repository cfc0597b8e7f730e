import type { Sql, Transaction } from '../../sql/core/db.ts'
import { makePeriods } from '../../sql/traces/periods.ts'

/** Makes room for the traces of the months around a time, as if it had been made then. */
export async function makePeriodsAt(sql: Sql, time: string) {
  const made = await sql.begin((tx: Transaction) => makePeriods(tx, new Date(time)))
  await sql`update trace_periods set created_at = ${time} where period = any(${made}::date[])`
  return made
}

/** What is stored meanwhile goes into this period, as if no later one had begun. */
export async function storingIn<T>(sql: Sql, period: string, work: () => Promise<T>): Promise<T> {
  const later = await sql<{ period: string; created_at: Date }[]>`
    delete from trace_periods where period > ${period} returning period::text as period, created_at`
  try {
    return await work()
  } finally {
    for (const { period, created_at } of later) {
      await sql`insert into trace_periods (period, created_at) values (${period}, ${created_at})`
    }
  }
}
