import type { UsingTrace } from '../../jobs/rules/traces/trace-use.ts'
import type { Queryable } from '../core/db.ts'
import { ofManifest } from '../traces/traces.ts'
import { ofAgent } from './manifests.ts'
import type { AgentKey } from './manifests.ts'

/** A trace with its content still compressed. */
export type ClosedTrace = Omit<UsingTrace, 'spans' | 'llm_calls'> & {
  trace_id: string
  content: Buffer
}

/** The newest finished traces of a manifest that started in the window. */
export async function listNewestContents(
  sql: Queryable,
  agent: AgentKey,
  manifestId: string,
  { window, limit }: { window: readonly [Date, Date]; limit: number },
) {
  return sql<ClosedTrace[]>`
    select trace_id, agent_name, status, active_skills, skills_loaded_by_agent, user_input_preview,
      final_output_preview, metadata, tags, content
    from traces t
    where ${ofAgent(sql, agent)} and ${ofManifest(sql, agent.orgId, manifestId)} and status <> 'running'
      and llm_call_count > 0 and started_at >= ${window[0]} and started_at < ${window[1]}
    order by started_at desc, trace_id desc limit ${limit}`
}
