import type { Test } from 'tap'
import type { Sql } from '../../sql/core/db.ts'
import { STEPS, effectJob, stepsJob } from './jobs.ts'

/**
 * I1: each accepted job ends in exactly one final state.
 * I2: no effect without its job, none twice; a job that succeeded has all of its effects.
 * @param accepted ids of the jobs whose submission was acknowledged
 */
export async function checkInvariants(t: Test, sql: Sql, accepted: readonly string[]) {
  const missing = await sql`
    select id from unnest(${accepted as string[]}::uuid[]) id
    where not exists (select from jobs where jobs.id = id.id)`
  t.equal(missing.length, 0, 'I1: no accepted job is lost')
  const unfinished = await sql`select id, state from jobs where finished_at is null`
  t.equal(unfinished.length, 0, 'I1: each job has ended')
  const twice = await sql`select job_id from endings group by job_id having count(*) > 1`
  t.equal(twice.length, 0, 'I1: and only once')

  const doubled = await sql`
    select job_id, n, step from effects group by 1, 2, 3 having count(*) > 1`
  t.equal(doubled.length, 0, 'I2: no effect was made twice')
  const orphans = await sql`
    select from effects e left join jobs j on j.org_id = e.org_id and j.id = e.job_id
    where j.id is null or (j.kind = ${effectJob.name} and j.state <> 'succeeded')`
  t.equal(orphans.length, 0, 'I2: no effect is without its job')
  const incomplete = await sql`
    select j.id from jobs j
    left join effects e on e.org_id = j.org_id and e.job_id = j.id
    where j.state = 'succeeded' and j.kind in (${effectJob.name}, ${stepsJob.name})
    group by j.id, j.kind
    having count(e.step) <> case j.kind when ${stepsJob.name} then ${STEPS} else 1 end`
  t.equal(incomplete.length, 0, 'I2: no effect is missing')
}

/**
 * I3: no job is shown running for longer than heartbeat + supervision + 5 s after its worker was last
 * heard of. Looks twice a second until it is told to stop and returns the longest such time in seconds.
 */
export function watchClaims(sql: Sql) {
  const lastAlive = new Map<string, number>()
  let longest = 0
  async function look() {
    const rows = await sql<{ id: string; alive: boolean }[]>`
      select j.id, coalesce(q.state = 'active' and q.heartbeat_on > now() - interval '3 seconds', false)
        as alive
      from jobs j left join pgboss.job q on q.name = j.kind and q.id = j.queue_job_id
      where j.state in ('running', 'cancelling')`
    const now = performance.now()
    const running = new Set(rows.map(({ id }) => id))
    for (const id of lastAlive.keys()) if (!running.has(id)) lastAlive.delete(id)
    for (const { id, alive } of rows) {
      const since = alive ? now : (lastAlive.get(id) ?? now)
      lastAlive.set(id, since)
      longest = Math.max(longest, (now - since) / 1000)
    }
  }
  const looking = setInterval(() => void look().catch(() => undefined), 500)
  return {
    stop() {
      clearInterval(looking)
      return longest
    },
  }
}

/** Heartbeat 10 s, supervision 3 s, and 5 s. */
export const UNCLAIMED_SECONDS = 18
