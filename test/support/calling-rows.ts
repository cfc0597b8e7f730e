import { randomUUIDv7 } from 'node:crypto'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'

/** A row of a trace of `support` that called tool `a` with `n`. */
export function callingRow(
  { orgId, projectId }: { orgId: string; projectId: string },
  { manifest_id, ageSeconds, n, messages = [] }: GivenCall,
) {
  const given = {
    agent_name: 'support',
    manifest_id,
    user_input_preview: 'x',
    llm_calls: [{ rendered_input: messages, tool_calls: [{ tool_name: 'a', args: { n } }] }],
  }
  const now = new Date(NEWEST - ageSeconds * 1000)
  const read = readTrace(given, { traceId: randomUUIDv7, now })
  if ('faults' in read) throw new Error(read.faults[0]?.message)
  return { ...toTraceRow(read.trace, 'shared'), org_id: orgId, project_id: projectId }
}

/** One for all rows, so that they are as far apart as their ages say. */
const NEWEST = Date.now()

interface GivenCall {
  readonly manifest_id: string
  readonly ageSeconds: number
  readonly n: unknown
  /** What was said before; default nothing. */
  readonly messages?: readonly object[]
}
