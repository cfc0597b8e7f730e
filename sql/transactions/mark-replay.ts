import type { Queue } from '../../jobs/queue.ts'
import type { NewScore } from '../../jobs/rules/evals/score.ts'
import { markedOriginal, markReplay } from '../../jobs/rules/replay/provenance.ts'
import type { ReplayOrigin } from '../../jobs/rules/replay/provenance.ts'
import type { Transaction } from '../core/db.ts'
import { upsertScores } from '../evals/eval-scores.ts'
import { markCellsDirty } from '../evals/cell-marks.ts'
import { lockStoredTraces } from '../traces/trace-updates.ts'
import type { TraceKey } from '../traces/traces.ts'
import { reviseTrace } from './revise-trace.ts'

/** Why a stored trace cannot be the replay of another. */
export type MarkFault =
  { readonly kind: 'invalid'; readonly message: string } | { readonly kind: 'unknown_trace' }

/**
 * Makes a stored trace the replay of another one of its project, unless it is marked as that already, and
 * stores scores of it, whose cells `compareReplay` asks to be summed up. A trace is the replay of one other at
 * most. It locks both, in the order in which all lock traces.
 * @returns undefined when it is the replay now
 */
export async function markStored(
  tx: Transaction,
  queue: Queue,
  key: TraceKey,
  { origin, scores }: { origin: ReplayOrigin; scores: readonly NewScore[] },
): Promise<MarkFault | undefined> {
  const { org_id, project_id, trace_id } = key
  const originalId = origin.original.trace_id
  if (trace_id === originalId) return invalid(SAME_TRACE)
  const found = await lockStoredTraces(tx, [key, { ...key, trace_id: originalId }])
  const replay = found.find((each) => each.trace_id === trace_id)
  if (!replay) return { kind: 'unknown_trace' }
  if (replay.agent_name !== origin.agent_name) {
    return invalid(`The replay must be a run of the agent ${origin.agent_name}`)
  }
  if (replay.status === 'running') return invalid('The replay is running still')
  const marked = markedOriginal(replay)
  if (marked !== undefined && marked !== originalId) {
    return invalid(`The trace is marked as the replay of another one: ${marked}`)
  }
  if (marked === undefined) {
    await reviseTrace(tx, queue, key, (stored) => markReplay(stored, origin))
  }
  if (scores.length === 0) return undefined
  await upsertScores(
    tx,
    org_id,
    project_id,
    scores.map((score) => ({ ...score, trace_id })),
  )
  await markCellsDirty(tx, org_id, project_id, [trace_id])
  return undefined
}

export const SAME_TRACE = 'A replay is another trace than its original'

export function invalid(message: string): MarkFault {
  return { kind: 'invalid', message }
}
