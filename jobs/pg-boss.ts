import type { ConnectionOptions } from 'pg-boss'

/**
 * What we know of pg-boss beyond its types: how it reaches a database, what its calls answer, and the
 * queue it makes for itself. Its tables, states and messages are in `sql/jobs/pg-boss.ts`.
 */

/** A pool or an open transaction; structurally, any postgres.js handle. */
export interface Executor {
  unsafe(
    query: string,
    parameters?: never[],
    options?: { prepare: boolean },
  ): PromiseLike<readonly object[]>
}

/** pg-boss's view of a postgres.js handle: the rows of every statement of a text, concatenated. */
export function bossDatabase(sql: Executor): NonNullable<ConnectionOptions['db']> {
  return {
    async executeSql(text, values = []) {
      // The texts with parameters are few; unprepared, each would take two round trips and be planned.
      const result = await sql.unsafe(text, values as never[], { prepare: values.length > 0 })
      return { rows: Array.isArray(result[0]) ? result.flat() : [...result] }
    },
  }
}

/** How many jobs a call has changed. pg-boss leaves the members of its responses out of its types. */
export function countAffected(response: object): number {
  return (response as { affected: number }).affected
}

/** The ids of the jobs a call has changed, where it was given jobs. */
export function affectedIds(response: object): readonly string[] {
  return (response as { settled: string[] | null }).settled ?? []
}

/** The queue through which its schedules go. */
export const SCHEDULER_QUEUE = '__pgboss__send-it'
