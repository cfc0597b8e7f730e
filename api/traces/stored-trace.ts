import type { TraceWarning } from '../../jobs/rules/traces/trace-warning.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { keyText, listStoredTraces } from '../../sql/traces/traces.ts'
import type { TraceKey } from '../../sql/traces/traces.ts'

/** The answer for a trace that is stored, by this request or an earlier one. */
export interface StoredTrace {
  readonly trace_id: string
  readonly agent_name: string
  readonly spans: number
  readonly llm_calls: number
  /** Null until the trace was judged. */
  readonly verdict: string | null
  /** This request stored it. */
  readonly created: boolean
  /** It was running, and this request finished it. */
  readonly updated: boolean
  /** What of the trace could not be stored as it was sent. */
  readonly warnings: readonly TraceWarning[]
}

/** The traces that earlier requests stored, by `keyText`. */
export async function readStored(tx: Transaction, keys: readonly TraceKey[]) {
  if (keys.length === 0) return new Map<string, StoredTrace>()
  const stored = await listStoredTraces(tx, keys)
  return new Map(stored.map((trace) => [keyText(trace), viewStored(trace)]))
}

export function viewStored(
  trace: CountedTrace,
  done: Partial<Pick<StoredTrace, 'created' | 'updated' | 'warnings'>> = {},
): StoredTrace {
  return {
    trace_id: trace.trace_id,
    agent_name: trace.agent_name,
    spans: trace.span_count,
    llm_calls: trace.llm_call_count,
    verdict: trace.verdict ?? null,
    created: false,
    updated: false,
    warnings: [],
    ...done,
  }
}

interface CountedTrace {
  readonly trace_id: string
  readonly agent_name: string
  readonly span_count: number
  readonly llm_call_count: number
  readonly verdict?: string | null
}
