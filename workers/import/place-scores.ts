import {
  countUnplacedScores,
  findNextChunk,
  placeSpanScores,
} from '../../sql/import/import-parts.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { addImportStep } from '../../sql/import/imports.ts'
import type { ImportRow } from '../../sql/import/imports.ts'
import { CONTINUE } from '../runtime/handler.ts'
import type { ResumableRun } from '../runtime/handler.ts'
import { assemblingProgress } from './import-slice.ts'
import type { PartsCursor, Slice } from './import-slice.ts'
import { openSpans } from './stage-parts.ts'

/**
 * Finds the traces of scores that name only a span, wherever in the file either is, and makes the scores
 * parts of them. It walks through the spans of each chunk, from the cursor on; scores of which no span
 * came are lost.
 * @returns the cursor from which traces are put together
 */
export async function placeScores<C extends PartsCursor>(
  run: ResumableRun<C>,
  item: ImportRow,
  from: C,
  slice: Slice,
): Promise<C | typeof CONTINUE> {
  const key = { orgId: item.org_id, importId: item.id }
  for (let cursor = from; ;) {
    run.signal.throwIfAborted()
    const chunk = await findNextChunk(run.sql, key, cursor.placed_chunk_no ?? -1)
    const next: C = {
      ...cursor,
      ...(chunk ? { placed_chunk_no: chunk.chunk_no } : { phase: 'assemble' }),
      attempt: run.attempt,
      isSliceEnd: slice.isOver(),
    }
    await run.queue.transaction(run.sql, async (tx: Transaction) => {
      for (const traceOf of chunk ? listTracesOfSpans(chunk.spans) : []) {
        run.signal.throwIfAborted()
        await placeSpanScores(tx, key, traceOf)
      }
      if (!chunk) await countLost(tx, item, next)
      await run.checkpoint(tx, assemblingProgress(item, next.line, 0), next)
    })
    if (next.isSliceEnd) return CONTINUE
    if (!chunk) return next
    cursor = next
  }
}

/** The trace of each span, some at a time. What names a trace is of that one rather than of a span. */
function* listTracesOfSpans(spans: Uint8Array): Generator<ReadonlyMap<string, string>> {
  const traces = openSpans(spans)
  const traceOf = new Map(traces.map(([traceId]) => [traceId, traceId]))
  for (const [traceId, spanIds] of traces) {
    for (const spanId of spanIds) if (!traceOf.has(spanId)) traceOf.set(spanId, traceId)
  }
  const all = [...traceOf]
  for (let at = 0; at < all.length; at += SPANS_TOGETHER) {
    yield new Map(all.slice(at, at + SPANS_TOGETHER))
  }
}

async function countLost(tx: Transaction, { org_id: orgId, id }: ImportRow, { line }: PartsCursor) {
  const count = await countUnplacedScores(tx, { orgId, importId: id })
  await addImportStep(tx, orgId, id, {
    source: undefined,
    bytes_done: undefined,
    lines_done: line,
    imported: 0,
    skipped: 0,
    errors: [],
    scores: 0,
    losses: count > 0 ? { score_without_trace: count } : {},
    cappedAtLine: undefined,
    incompleteTraceIds: [],
  })
}

const SPANS_TOGETHER = 10_000
