import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import type { Queue } from '../../jobs/queue.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import type { Transaction } from '../core/db.ts'
import { upsertEachScore } from '../evals/eval-scores.ts'
import type { TraceScore } from '../evals/eval-scores.ts'
import { markCellsDirty } from '../evals/cell-marks.ts'
import { insertCorrections } from '../traces/annotations.ts'
import type { CorrectionRow } from '../traces/annotations.ts'
import { lockTraces } from '../traces/traces.ts'

/** What was said of traces of one project after they were stored. */
export interface SaidLater {
  readonly scores: readonly TraceScore[]
  /** Those of traces that this transaction stores have these judged by it already: not `isKnown`. */
  readonly corrections: readonly (CorrectionRow & { readonly isKnown: boolean })[]
}

/**
 * Stores scores and corrections of traces. Those that were there before are judged anew where a score is
 * new or differs, or a correction is new, and no others.
 * @returns how many scores are new or differ, and the traces that are gone
 */
export async function updateScores(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  projectId: string,
  { scores, corrections }: SaidLater,
): Promise<{ changedCount: number; missing: ReadonlySet<string> }> {
  const ids = [...new Set([...scores, ...corrections].map(({ trace_id }) => trace_id))]
  const there = ids.length > 0 ? await lockTraces(tx, orgId, projectId, ids) : new Set<string>()
  const isThere = ({ trace_id }: { trace_id: string }) => there.has(trace_id)
  const corrected = await insertCorrections(tx, orgId, projectId, corrections.filter(isThere))
  const known = new Set(corrections.flatMap(({ isKnown, trace_id }) => (isKnown ? trace_id : [])))
  const kept = scores.filter(isThere)
  const changed: string[] = []
  for (let at = 0; at < kept.length; at += SCORES_TOGETHER) {
    const together = kept.slice(at, at + SCORES_TOGETHER)
    for (const id of await upsertEachScore(tx, orgId, projectId, together)) changed.push(id)
  }
  const judged = new Set(corrected.filter((id) => known.has(id)))
  for (const id of changed) judged.add(id)
  await judgeAgain(tx, queue, orgId, projectId, [...judged])
  return { changedCount: changed.length, missing: new Set(ids.filter((id) => !there.has(id))) }
}

async function judgeAgain(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  if (traceIds.length === 0) return
  await markCellsDirty(tx, orgId, projectId, traceIds)
  await enqueueTraces(queue, tx, judgeTraces, orgId, projectId, traceIds)
  await requestAggregation(queue, tx, orgId, projectId)
}

const SCORES_TOGETHER = 5000
