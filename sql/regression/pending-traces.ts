import { judgeTraces } from '../../jobs/judge-traces.ts'
import type { Queryable } from '../core/db.ts'
import { queuedTraces } from '../jobs/pg-boss.ts'
import type { AgentKey } from '../manifests/manifests.ts'
import { isSameTrace, ofManifest } from '../traces/traces.ts'

/**
 * Up to `limit` traces of two manifests that wait to be judged, since they were stored or were given scores,
 * by id and after `after`. The queue tells exactly: a trace's job is enqueued with what is to be judged,
 * and ends with the judgement. Nothing is new to a job that was enqueued as the trace was stored, in the
 * same transaction, once there is a verdict.
 */
export async function listPendingTraces(
  sql: Queryable,
  agent: AgentKey,
  { before, after: candidate, window }: Compared,
  { after, limit }: { after: string; limit: number },
) {
  const { orgId, projectId } = agent
  const rows = await sql<{ trace_id: string }[]>`
    select distinct t.trace_id
    from ${queuedTraces(sql, judgeTraces.name, orgId, projectId)} q
    join trace_ids k on k.org_id = ${orgId} and k.project_id = ${projectId} and k.trace_id = q.trace_id
    join traces t on ${isSameTrace(sql, sql`t`, sql`k`)}
    where t.agent_name = ${agent.agentName} and t.started_at >= ${window[0]} and t.started_at < ${window[1]}
      and (${ofManifest(sql, orgId, before.id)} or ${ofManifest(sql, orgId, candidate.id)})
      and t.status <> 'running' and t.trace_id > ${after}
      and not (q.created_on = t.created_at and exists (
        select from verdicts v
        where ${isSameTrace(sql, sql`v`, sql`t`)}))
    order by t.trace_id limit ${limit}`
  return rows.map(({ trace_id }) => trace_id)
}

/** Two manifests and the window in which their traces started. */
export interface Compared {
  readonly before: { readonly id: string }
  readonly after: { readonly id: string }
  readonly window: readonly [Date, Date]
}
