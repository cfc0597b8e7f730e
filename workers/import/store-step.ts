import { messageOf } from '../../jobs/rules/core/error-message.ts'
import type { FormatName } from '../../jobs/rules/import/detect.ts'
import { isRowRefused } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { upsertScores } from '../../sql/evals/eval-scores.ts'
import { stageParts } from '../../sql/import/import-parts.ts'
import type { StagedChunk } from '../../sql/import/import-parts.ts'
import { addImportStep } from '../../sql/import/imports.ts'
import type { ImportRow } from '../../sql/import/imports.ts'
import type { Progress } from '../../sql/jobs/jobs.ts'
import { copyTraces } from '../../sql/traces/trace-copy.ts'
import type { CopiedTrace } from '../../sql/traces/trace-copy.ts'
import {
  chargeTraces,
  completeTraces,
  storeByHalves,
  tieLate,
} from '../../sql/transactions/store-traces.ts'
import type { NewTraces } from '../../sql/transactions/store-traces.ts'
import { updateScores } from '../../sql/transactions/update-scores.ts'
import type { ResumableRun, Run } from '../runtime/handler.ts'
import type { EncodedPage } from './assemble-page.ts'
import type { EncodedTraces, TraceLoss } from './encode-chunk.ts'
import type { PartsCursor } from './import-slice.ts'
import type { LineFault } from './containers/upload-fault.ts'

/** What is stored at once. Only the database can still refuse some of its rows. */
export interface ReadyStep {
  readonly encoded: EncodedTraces
  /** Pieces of traces that were read. */
  readonly staged?: StagedChunk | undefined
  /** What was put together beside new traces. */
  readonly later?: Pick<EncodedPage, 'laterScores' | 'corrections' | 'incompleteIds'>
  /** The faults that were found when the records were read and checked. */
  readonly faults: readonly LineFault[]
  /** By code, what of the file was left out before it was read as records. */
  readonly leftOut?: Readonly<Partial<Record<string, number>>>
  /** Format of the first record that has one. */
  readonly format?: FormatName | undefined
  /** How much of the file was read by then; absent where nothing was. */
  readonly bytesDone?: number
  readonly linesDone: number
  readonly cappedAtLine?: number | undefined
  readonly progress: Progress
}

/** The organization's quota does not hold the step, and nothing of it was stored. */
export class OverQuota extends Error {
  /** The line of the first trace that does not fit. */
  readonly line: number
  readonly traceId: string

  constructor(line: number, traceId: string) {
    super(`The quota is used up at line ${line}`)
    this.line = line
    this.traceId = traceId
  }
}

/**
 * Stores a step in one transaction: traces, scores, staged parts, counts, errors, the jobs that judge the
 * traces, and the position from which to continue. Whatever ends the process or aborts the run, all of it
 * is stored or nothing.
 * @returns how many whole traces the project had already
 * @throws OverQuota
 */
export async function storeStep<C extends PartsCursor>(
  run: ResumableRun<C>,
  item: ImportRow,
  step: ReadyStep,
  cursor: C,
) {
  const { encoded, staged } = step
  return run.queue.transaction(run.sql, async (tx: Transaction) => {
    if (staged) await stageParts(tx, { orgId: item.org_id, importId: item.id }, staged)
    const stored = await storeTraces(tx, run, item, encoded)
    run.signal.throwIfAborted()
    const later = await storeLater(tx, run, item, step, stored)
    run.signal.throwIfAborted()
    const left = encoded.traceIds.length - stored.ids.size - stored.refused.length
    const skipped = encoded.skipped + left
    await addImportStep(tx, item.org_id, item.id, {
      source: step.format,
      bytes_done: step.bytesDone,
      lines_done: step.linesDone,
      imported: stored.ids.size,
      skipped,
      errors: [...step.faults, ...stored.refused],
      scores: stored.scoreCount + later.scoreCount,
      losses: countCodes([...encoded.lost, ...stored.lost, ...later.lost], step.leftOut),
      cappedAtLine: step.cappedAtLine,
      incompleteTraceIds: (step.later?.incompleteIds ?? []).filter((id) => stored.ids.has(id)),
    })
    await run.checkpoint(tx, step.progress, cursor)
    if (!item.dry_run) await charge(tx, run, encoded, stored.ids)
    return { skipped }
  })
}

/** Stores the traces that are still new, with their scores, and has them judged. */
async function storeTraces(
  tx: Transaction,
  run: Run,
  item: ImportRow,
  encoded: EncodedTraces,
): Promise<Stored> {
  const refused: LineFault[] = []
  const copied = item.dry_run ? [] : await insertRows(tx, encoded, { refused, signal: run.signal })
  await tieLate(tx, copied)
  const ids = new Set(item.dry_run ? encoded.traceIds : copied.map(({ trace_id }) => trace_id))
  run.signal.throwIfAborted()
  const scores = encoded.scores.filter(({ trace_id }) => ids.has(trace_id))
  if (!item.dry_run && item.project_id !== null) {
    await complete(tx, run, { projectId: item.project_id, traceIds: [...ids], scores })
  }
  const losses = [
    ...encoded.losses.filter(({ trace_id }) => ids.has(trace_id)),
    ...lostManifests(copied),
  ]
  const lost = losses.map(({ code }) => code)
  return { ids, refused, scoreCount: scores.length, lost }
}

/**
 * Stores what came for traces that were there before, or have come since they were looked for, and the
 * corrections of all.
 */
async function storeLater(
  tx: Transaction,
  run: Run,
  item: ImportRow,
  { later, encoded }: ReadyStep,
  { ids }: Stored,
) {
  if (!later || item.dry_run || item.project_id === null) return NOTHING_LATER
  const { orgId, queue } = run
  const corrections = later.corrections.map((correction) => ({
    ...correction,
    isKnown: !ids.has(correction.trace_id),
  }))
  const isLate = ({ trace_id }: { trace_id: string }) => !ids.has(trace_id)
  const scores = [...later.laterScores, ...encoded.scores.filter(isLate)]
  const said = { scores, corrections }
  const { changedCount, missing } = await updateScores(tx, queue, orgId, item.project_id, said)
  // Those of a new trace that was refused are lost with it.
  const lost = later.laterScores.filter(({ trace_id }) => missing.has(trace_id))
  return { scoreCount: changedCount, lost: lost.map(() => 'score_without_trace' as const) }
}

/** Locks the organization's counter until the transaction ends, so it comes last. */
async function charge(
  tx: Transaction,
  run: Run,
  { traceIds, lines }: EncodedTraces,
  stored: ReadonlySet<string>,
) {
  const account = { orgId: run.orgId, quotas: run.quotas, at: run.now() }
  const over = await chargeTraces(tx, run.queue, account, stored.size)
  if (!over) return
  const places = traceIds.flatMap((id, i) => (stored.has(id) ? [i] : []))
  const first = places[over.left] as number
  throw new OverQuota(lines[first] as number, traceIds[first] as string)
}

/** Stores scores some at a time, so that an aborted run does not wait for all of them. */
async function complete(
  tx: Transaction,
  { orgId, signal, queue }: Run,
  { projectId, traceIds, scores }: NewTraces,
) {
  for (let at = 0; at < scores.length; at += SCORES_TOGETHER) {
    signal.throwIfAborted()
    await upsertScores(tx, orgId, projectId, scores.slice(at, at + SCORES_TOGETHER))
  }
  await completeTraces(tx, queue, orgId, [{ projectId, traceIds, scores: [] }])
}

/** How many times each code is there, with what was counted before. */
export function countCodes(codes: readonly string[], counted: ReadyStep['leftOut'] = {}) {
  const counts = new Map<string, number>()
  const add = (code: string, n: number) => counts.set(code, (counts.get(code) ?? 0) + n)
  for (const [code, n = 0] of Object.entries(counted)) add(code, n)
  for (const code of codes) add(code, 1)
  return Object.fromEntries(counts)
}

/** Inserts the rows whose ids are still new. Rows that the database refuses are found by halving. */
function insertRows(
  tx: Transaction,
  { rows, lines, traceIds }: EncodedTraces,
  { refused, signal }: { refused: LineFault[]; signal: AbortSignal },
) {
  return storeByHalves<CopiedTrace>(
    {
      store(from, to) {
        signal.throwIfAborted()
        return tx.savepoint((inner) => copyTraces(inner, rows, from, to))
      },
      isOfItem: isRowRefused,
      refuse(index, error) {
        refused.push({
          line: lines[index] as number,
          code: 'refused',
          message: `The database refused the record: ${messageOf(error)}`,
        })
        return []
      },
    },
    0,
    traceIds.length,
  )
}

/** Traces that name a manifest that is none of their agent's: it is kept in their metadata. */
function lostManifests(copied: readonly CopiedTrace[]): TraceLoss[] {
  return copied
    .filter(({ unknown_manifest_id }) => unknown_manifest_id !== null)
    .map(({ trace_id }) => ({ trace_id, code: 'unknown_manifest' }))
}

const SCORES_TOGETHER = 5000
const NOTHING_LATER = { scoreCount: 0, lost: [] }

interface Stored {
  readonly ids: ReadonlySet<string>
  readonly refused: readonly LineFault[]
  readonly scoreCount: number
  /** Codes of what of them could not be kept. */
  readonly lost: readonly string[]
}
