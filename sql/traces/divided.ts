import type { Queryable } from '../core/db.ts'

/**
 * Whether the tables of traces are divided by period; those of a database that an earlier release made are
 * so once its operator has finished the upgrade. Until then releases are served that know no periods.
 */
export async function isDivided(sql: Queryable) {
  const [row] = await sql<{ is_divided: boolean }[]>`select ${areDivided(sql)} as is_divided`
  return row?.is_divided ?? false
}

/** The same as a condition, whatever the schema of the database. */
export function areDivided(sql: Queryable) {
  return sql`to_regprocedure('make_trace_period(date)') is not null`
}
