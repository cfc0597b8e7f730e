import { createHash, randomUUID } from 'node:crypto'
import { contentText, decodeContent } from '../../jobs/rules/traces/content.ts'
import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import type { Sql } from '../../sql/core/db.ts'

export interface GivenRevision {
  readonly trace_id: string
  readonly target_manifest_id: string
  /** What the trace says once it is patched. */
  readonly llm_calls: readonly object[]
  /** Default 0: it is made for the trace as it was stored. */
  readonly trace_revision?: number
}

/** Stores patched contents of traces, in the place of those made for the same manifest. Returns their batch. */
export async function storeRevisions(
  sql: Sql,
  { orgId, projectId }: { orgId: string; projectId: string },
  revisions: readonly GivenRevision[],
  form: ContentForm = 'shared',
) {
  const batchId = randomUUID()
  for (const { trace_id, target_manifest_id: target, llm_calls, trace_revision = 0 } of revisions) {
    await sql`
      insert into repair_batches (org_id, project_id, id, job_id, old_manifest_id, new_manifest_id,
        rules, engine_version)
      values (${orgId}, ${projectId}, ${batchId}, ${batchId}, ${target}, ${target}, '[]', '1')
      on conflict do nothing`
    const content = contentOf(llm_calls, form)
    const hash = createHash('sha256')
      .update(contentText(decodeContent(content)))
      .digest()
    await sql`
      insert into trace_revisions (org_id, project_id, trace_id, target_manifest_id, batch_id,
        trace_revision, rules, content, content_hash, tools_called)
      values (${orgId}, ${projectId}, ${trace_id}, ${target}, ${batchId}, ${trace_revision},
        ${[...RULES]}::int[], ${content}, ${hash}, '{}')
      on conflict (org_id, project_id, trace_id, target_manifest_id) do update set
        batch_id = excluded.batch_id, trace_revision = excluded.trace_revision,
        content = excluded.content, content_hash = excluded.content_hash`
  }
  return batchId
}

/** The indices of the rules that each of the revisions says it was made by. */
export const RULES = [0, 300]

function contentOf(llm_calls: readonly object[], form: ContentForm) {
  const read = readTrace(
    { agent_name: 'agent', llm_calls },
    { traceId: () => 'patched', now: new Date('2026-01-01T00:00:00Z') },
  )
  if ('faults' in read) throw new Error(JSON.stringify(read.faults))
  return toTraceRow(read.trace, form).content
}
