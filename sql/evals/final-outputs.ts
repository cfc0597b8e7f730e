import { contentBatches } from '../../jobs/rules/traces/content-batches.ts'
import { conversationOf, textOf } from '../../jobs/rules/traces/conversation.ts'
import { decodeContent } from '../../jobs/rules/traces/content.ts'
import type { TraceContent } from '../../jobs/rules/traces/trace.ts'
import type { Queryable } from '../core/db.ts'
import { ofTraces } from '../traces/traces.ts'

/**
 * Each trace with its final output in full, which is longer than its preview; '' where it is not
 * needed, and the error where its content cannot be opened. Only a few contents are in memory at once, and
 * only one of them decompressed.
 */
export async function* withOutputs<T extends OpenableTrace>(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traces: readonly T[],
  isNeeded: (trace: T) => boolean,
) {
  for await (const group of contentBatches([traces], OPENED_AT_ONCE)) {
    const ids = group.filter(isNeeded).map(({ trace_id }) => trace_id)
    const contents = await listContents(sql, orgId, projectId, ids)
    for (const row of group) {
      const content = contents.get(row.trace_id)
      yield { row, ...(content ? openOutput(content) : { output: '' }) }
    }
  }
}

async function listContents(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  if (traceIds.length === 0) return new Map<string, ClosedOutput>()
  const rows = await sql<(ClosedOutput & { trace_id: string })[]>`
    select trace_id, final_output_preview, content from traces
    where ${ofTraces(sql, orgId, projectId, traceIds)}`
  return new Map(rows.map((row) => [row.trace_id, row]))
}

function openOutput(closed: ClosedOutput): { output: string } | { fault: unknown } {
  let opened: TraceContent
  try {
    opened = decodeContent(closed.content)
  } catch (fault) {
    return { fault }
  }
  return { output: outputOf(opened, closed) }
}

function outputOf({ llm_calls }: TraceContent, { final_output_preview }: ClosedOutput) {
  const messages = conversationOf({ llm_calls, user_input_preview: null, final_output_preview })
  return textOf(messages.findLast(({ role }) => role === 'assistant'))
}

const OPENED_AT_ONCE = { traces: 20, bytes: 4 << 20 }

type OpenableTrace = { trace_id: string; content_bytes: number }
interface ClosedOutput {
  final_output_preview: string | null
  content: Buffer
}
