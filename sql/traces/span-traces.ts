import type { Queryable, Transaction } from '../core/db.ts'
import { keysOf, ofTrace } from './traces.ts'
import type { TraceKey } from './traces.ts'

/** How far a stored trace is that spans have come for. */
export interface StoredSpans {
  /** Further spans may change it. */
  readonly made_of_spans: boolean
  readonly revision: number
  /** Compressed; null where it is large, or not made of spans. */
  readonly content: Buffer | null
}

/** Those of the traces that are there. */
export async function listSpanTraces(sql: Queryable, keys: readonly TraceKey[]) {
  if (keys.length === 0) return []
  return sql<(TraceKey & StoredSpans)[]>`
    select t.org_id, t.project_id, t.trace_id, t.made_of_spans, t.revision,
      case when t.made_of_spans and octet_length(t.content) <= ${LARGE_BYTES}::int then t.content end as content
    from ${keysOf(sql, keys)} join traces t using (org_id, project_id, period, trace_id)`
}

/** A trace with its content, however large; undefined when it is gone or not made of spans any more. */
export async function findSpanTrace(sql: Queryable, key: TraceKey) {
  const [row] = await sql<{ revision: number; content: Buffer }[]>`
    select revision, content from traces where ${ofTrace(sql, key)} and made_of_spans`
  return row
}

/** Whether the trace is there; nobody changes or deletes it before the transaction ends. */
export async function lockTrace(tx: Transaction, key: TraceKey) {
  const locked = await tx`select from traces where ${ofTrace(tx, key)} for no key update`
  return locked.length > 0
}

/** Of contents that are read together, so that those of a batch take little memory. */
const LARGE_BYTES = 64 << 10
