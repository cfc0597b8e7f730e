import { applyRepair } from '../../jobs/apply-repair.ts'
import type { Checkpoint } from '../../jobs/job.ts'
import { COMPAT_ENGINE_VERSION } from '../../jobs/rules/manifests/compat-policy.ts'
import {
  emptyRepairTally,
  MAX_REPAIR_FAILURES,
  TRACE_CHANGED,
  tallyRepair,
} from '../../jobs/rules/manifests/repair-tally.ts'
import type { RepairFailure, RepairTally } from '../../jobs/rules/manifests/repair-tally.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { countClosedTraces, listClosedTraces } from '../../sql/manifests/closed-traces.ts'
import type { ClosedTraceRow } from '../../sql/manifests/closed-traces.ts'
import {
  completeRepairBatch,
  findRepairBatch,
  insertRepairFailures,
  updateRepairCounts,
} from '../../sql/manifests/repair-batches.ts'
import type { RepairBatchRow } from '../../sql/manifests/repair-batches.ts'
import { upsertRevisions, withdrawRevisions } from '../../sql/manifests/trace-revisions.ts'
import type { RepairedTrace } from '../../sql/manifests/trace-revisions.ts'
import type { Repair } from '../examination/repair.ts'
import { repairTraces } from '../examination/examiner.ts'
import { GiveUp } from '../runtime/give-up.ts'
import { handler } from '../runtime/handler.ts'
import type { ResumableRun } from '../runtime/handler.ts'
import { readCompared } from './compared-manifests.ts'

/**
 * Works page by page. One transaction stores the repaired contents of a page, the counts of the batch and
 * the checkpoint, so that a run that goes on counts each trace once.
 */
export const applyRepairHandler = handler(applyRepair, async ({ batch_id }, run) => {
  const batch = await findRepairBatch(run.sql, run.orgId, batch_id)
  if (!batch) throw new GiveUp('batch_gone', 'The repair batch has been deleted')
  // The indices that were approved are those of the rules as that version made them.
  if (batch.engine_version !== COMPAT_ENGINE_VERSION) {
    throw new GiveUp('rules_changed', 'The rules have changed since they were approved')
  }
  const { repaired, skipped, failed } = await repairAll(run, batch)
  await completeRepairBatch(run.sql, run.orgId, batch.id)
  return { repaired_count: repaired, skipped_count: skipped, failed_count: failed }
})

async function repairAll(run: ResumableRun<Cursor>, batch: RepairBatchRow) {
  // Without rules nothing can be repaired, and no trace needs to be read.
  if (batch.rules.length === 0) return emptyRepairTally()
  const { old_manifest_id, new_manifest_id } = batch
  const { silentTools, ...pair } = await readCompared(run, old_manifest_id, new_manifest_id)
  const filter = {
    orgId: run.orgId,
    projectId: batch.project_id,
    agentName: batch.agent_name,
    manifestId: old_manifest_id,
    silentTools,
  }
  const total = await countClosedTraces(run.sql, filter)
  let cursor = run.checkpointed
  for (;;) {
    run.signal.throwIfAborted()
    const traces = await listClosedTraces(run.sql, filter, cursor?.after)
    const last = traces.at(-1)
    const { walked, tally } = cursor ?? { walked: 0, tally: emptyRepairTally() }
    if (!last) return tally
    const approved = batch.rule_indices
    const repairs = await repairTraces(run, { ...pair, approved, wants: 'content', traces })
    const after = { started_at: last.started_at, trace_id: last.trace_id }
    const next = { after, walked: walked + traces.length, tally: structuredClone(tally) }
    await writePage(run, batch, { traces, repairs, next, total })
    cursor = next
  }
}

/** Adds what the page comes to to the tally of `next`. */
async function writePage(
  run: ResumableRun<Cursor>,
  batch: RepairBatchRow,
  { traces, repairs, next, total }: Page,
) {
  const { orgId, sql } = run
  const { project_id: projectId, id: batchId, new_manifest_id: targetManifestId } = batch
  const room = Math.max(0, MAX_REPAIR_FAILURES - next.tally.failed)
  const repaired = traces.flatMap((trace, i) => repairedTrace(trace, repairs[i]))
  const leftOut = traces.flatMap(({ trace_id }, i) => (isLeftOut(repairs[i]) ? [trace_id] : []))
  await sql.begin(async (tx: Transaction) => {
    const target = { orgId, projectId, batchId, targetManifestId }
    const stored = await upsertRevisions(tx, target, repaired)
    await withdrawRevisions(tx, target, leftOut)
    const failures = tallyPage(next.tally, { traces, repairs, stored })
    await insertRepairFailures(tx, orgId, batchId, failures.slice(0, room))
    await updateRepairCounts(tx, orgId, batchId, next.tally)
    await run.checkpoint(tx, { done: next.walked, total, unit: 'traces' }, next)
  })
}

/** @returns the traces that could not be repaired */
function tallyPage(
  tally: RepairTally,
  { traces, repairs, stored }: Pick<Page, 'traces' | 'repairs'> & { stored: ReadonlySet<string> },
) {
  return traces.flatMap(({ trace_id }, i): RepairFailure[] => {
    const repair = repairs[i]
    if (!repair) throw new TypeError('A trace was not repaired')
    const isLost = repair.kind === 'repaired' && !stored.has(trace_id)
    const code = tallyRepair(tally, isLost ? TRACE_CHANGED : repair)
    return code === undefined ? [] : [{ trace_id, code }]
  })
}

/** By the rules of this batch the trace does not fit. */
function isLeftOut(repair: Repair | undefined) {
  return repair?.kind === 'skipped' || repair?.kind === 'failed'
}

function repairedTrace(
  { trace_id, revision }: ClosedTraceRow,
  repair: Repair | undefined,
): RepairedTrace[] {
  if (repair?.kind !== 'repaired') return []
  const { rules, content, content_hash, tools_called } = repair
  return [{ trace_id, trace_revision: revision, rules, content, content_hash, tools_called }]
}

interface Page {
  readonly traces: readonly ClosedTraceRow[]
  readonly repairs: readonly Repair[]
  /** The checkpoint after the page. */
  readonly next: Cursor
  /** How many traces all pages have. */
  readonly total: number
}

type Cursor = Checkpoint<typeof applyRepair>
