import type { Sql } from '../../sql/core/db.ts'

/** Makes a job that has ended one that runs, or that has failed. */
export async function setJobState(sql: Sql, id: string, state: 'running' | 'failed') {
  const error = state === 'failed' ? '{"code": "broken", "message": "Broken"}' : null
  await sql`
    update jobs set state = ${state}, error = ${error}::text::jsonb,
      finished_at = case when ${state === 'failed'} then now() end
    where id = ${id}`
}
