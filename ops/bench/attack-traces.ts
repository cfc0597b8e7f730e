import type { Sql, Transaction } from '../../sql/core/db.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { copyTraces, encodeTraces } from '../../sql/traces/trace-copy.ts'

/** Stores traces whose text every search of the attack finds. */
export async function storeSearchedTraces(
  sql: Sql,
  owner: { readonly org_id: string; readonly project_id: string },
  count: number,
) {
  for (let from = 0; from < count; from += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, count - from) }, (_, i) => makeRow(from + i))
    const encoded = encodeTraces(owner.org_id, owner.project_id, rows)
    await sql.begin((tx: Transaction) => copyTraces(tx, encoded, 0, rows.length))
  }
  await sql`
    insert into trace_search (org_id, project_id, period, trace_id, document, has_stems)
    select org_id, project_id, period, trace_id,
      search_document(concat_ws(' ', user_input_preview, final_output_preview)), true
    from traces where org_id = ${owner.org_id}`
  await sql`vacuum analyze traces, trace_search`
}

function makeRow(i: number): TraceRow {
  const started = new Date(Date.now() - (i % 2_592_000) * 1000)
  const given = {
    trace_id: `searched-${i}`,
    agent_name: 'support',
    started_at: started.toISOString(),
    user_input_preview: `Where is my order ${i}? ${WORDS[i % WORDS.length]} was promised last week.`,
    final_output_preview: `Order ${i} has left the warehouse.`,
  }
  const read = readTrace(given, { traceId: () => '', now: started })
  if ('faults' in read) throw new Error(read.faults[0]?.message)
  return toTraceRow(read.trace, 'shared')
}

const WORDS = ['the parcel', 'a refund', 'an answer', 'the invoice', 'a call', 'the part']
const BATCH = 5000
