import type { Sql } from '../../sql/core/db.ts'

/**
 * Makes a job that has ended one that runs, or that has ended otherwise. Its queue row follows: supervision
 * takes a running job without an active one for a lost one.
 */
export async function setJobState(sql: Sql, id: string, state: 'running' | 'succeeded' | 'failed') {
  const error = state === 'failed' ? '{"code": "broken", "message": "Broken"}' : null
  const isRunning = state === 'running'
  await sql`
    with job as (
      update jobs set state = ${state}, error = ${error}::text::jsonb,
        finished_at = case when ${!isRunning} then now() end
      where id = ${id} returning kind, queue_job_id
    )
    update pgboss.job q set state = ${isRunning ? 'active' : 'completed'},
      heartbeat_on = now() + interval '1 hour'
    from job where q.name = job.kind and q.id = job.queue_job_id`
}
