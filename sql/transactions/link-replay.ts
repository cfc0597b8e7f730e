import { randomUUIDv7 } from 'node:crypto'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../core/db.ts'
import { findRun } from '../replay/compared-runs.ts'
import { findPairTask, insertLinkedTask, lockLinkedBatch } from '../replay/linked-tasks.ts'
import type { LinkedPair, LinkResult } from '../replay/linked-tasks.ts'
import { compareReplay } from './compare-replay.ts'
import { markStored } from './mark-replay.ts'
import type { MarkFault } from './mark-replay.ts'

export type LinkOutcome = { readonly kind: 'linked'; readonly result: LinkResult } | MarkFault

/**
 * Makes one stored trace the replay of another, as if it had been submitted for a task of the agent's batch
 * of links. The same pair again, also when it was submitted, gives what was stored.
 */
export async function linkReplay(
  tx: Transaction,
  queue: Queue,
  pair: LinkedPair,
  createdBy: string,
): Promise<LinkOutcome> {
  const { org_id, project_id, original_trace_id, replayed_trace_id } = pair
  const original = await findRun(tx, { org_id, project_id, trace_id: original_trace_id })
  if (!original) return { kind: 'unknown_trace' }
  if (original.status === 'running')
    return { kind: 'invalid', message: 'The original is running still' }
  const { agent_name, replayability } = original
  const batch_id = await lockLinkedBatch(tx, pair, agent_name, createdBy)
  const known = await findPairTask(tx, pair)
  if (known) return { kind: 'linked', result: known }
  const task_id = randomUUIDv7()
  const fault = await markStored(
    tx,
    queue,
    { org_id, project_id, trace_id: replayed_trace_id },
    {
      origin: {
        batch_id,
        task_id,
        attempt: 0,
        agent_name,
        original: { trace_id: original_trace_id, task_id: original.task_id },
        target_manifest_id: null,
      },
      scores: [],
    },
  )
  if (fault) return fault
  const report = { failed: false, eval_score: null, eval_verdict: null }
  const compared = await compareReplay(tx, queue, { ...pair, agent_name, original }, report)
  await insertLinkedTask(tx, pair, { task_id, batch_id, replayability, ...compared })
  const { eval_score, eval_verdict } = compared
  return { kind: 'linked', result: { task_id, batch_id, eval_score, eval_verdict } }
}
