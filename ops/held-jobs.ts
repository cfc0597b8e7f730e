import type { Sql } from '../sql/core/db.ts'
import { countActive, countWaiting } from '../sql/jobs/pg-boss.ts'
import { listOrgLimits, listPausedQueues } from '../sql/jobs/queue-control.ts'
import type { OrgLimit } from '../sql/jobs/queue-control.ts'

/** Of the jobs that are ready in each queue, those that a pause or a limit holds back. */
export async function countHeld(
  sql: Sql,
  counted: readonly { readonly queue: string; readonly ready: number }[],
): Promise<Map<string, number>> {
  const paused = new Set((await listPausedQueues(sql)).map(({ queue }) => queue))
  const limits = Map.groupBy(await listOrgLimits(sql), ({ queue }) => queue)
  const held = new Map<string, number>()
  for (const { queue, ready } of counted) {
    const limited = limits.get(queue) ?? []
    // What is ready was counted earlier.
    const most = paused.has(queue) ? ready : await countLimited(sql, queue, limited)
    held.set(queue, Math.min(ready, most))
  }
  return held
}

/** Jobs that wait because of what is set for their organizations. */
async function countLimited(sql: Sql, queue: string, limits: readonly OrgLimit[]) {
  if (limits.length === 0) return 0
  const orgIds = limits.map(({ org_id }) => org_id)
  const waiting = await countWaiting(sql, queue, orgIds)
  const active = await countActive(sql, queue, orgIds)
  return limits.reduce((sum, { org_id, paused, max_running }) => {
    const most = paused ? 0 : (max_running ?? Infinity)
    const room = Math.max(0, most - (active.get(org_id) ?? 0))
    return sum + Math.max(0, (waiting.get(org_id) ?? 0) - room)
  }, 0)
}
