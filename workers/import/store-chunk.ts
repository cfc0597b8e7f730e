import { requestJudgement } from '../../jobs/judge-traces.ts'
import type { Transaction } from '../../sql/db.ts'
import { upsertScores } from '../../sql/eval-scores.ts'
import { addImportStep } from '../../sql/imports.ts'
import type { ImportRow } from '../../sql/imports.ts'
import { copyTraces } from '../../sql/trace-copy.ts'
import { chargeUsage } from '../../sql/usage.ts'
import type { Run } from '../handler.ts'
import type { EncodedChunk } from './parse-chunk.ts'
import type { Chunk } from './read-chunks.ts'
import type { LineFault } from './upload-fault.ts'

/** A chunk with all that is known of it but how the database takes it. */
export interface ReadyChunk {
  readonly chunk: Omit<Chunk, 'bytes' | 'ends' | 'lines'>
  readonly encoded: EncodedChunk
  /** Of reading and checking. */
  readonly faults: readonly LineFault[]
  /** Format of its first record that has one. */
  readonly format: string | undefined
}

/** The organization's quota does not hold the chunk; nothing of it was stored. */
export class OverQuota extends Error {
  /** Of the first record that does not fit. */
  readonly line: number

  constructor(line: number) {
    super(`The quota is used up at line ${line}`)
    this.line = line
  }
}

/**
 * Stores a chunk in one transaction: traces, scores, counts, errors, the jobs that judge the traces, and
 * the place to go on from. Whatever ends the process, all of that happened or none.
 * @throws OverQuota
 */
export async function storeChunk(
  run: Run,
  item: ImportRow,
  { chunk, encoded, faults, format }: ReadyChunk,
  cursor: object,
) {
  await run.queue.transaction(run.sql, async (tx: Transaction) => {
    const refused: LineFault[] = []
    const stored = item.dry_run ? encoded.traceIds : await insertRows(tx, encoded, refused)
    const isStored = new Set(stored)
    const scores = encoded.scores.filter(({ trace_id }) => isStored.has(trace_id))
    if (!item.dry_run) {
      await upsertScores(tx, item.org_id, item.project_id, scores)
      await requestJudgement(run.queue, tx, item.org_id, item.project_id, stored)
    }
    await addImportStep(tx, item.org_id, item.id, {
      source: format,
      bytes_done: chunk.consumed,
      lines_done: chunk.next.line,
      imported: stored.length,
      skipped: encoded.skipped + encoded.traceIds.length - stored.length - refused.length,
      errors: [...faults, ...refused],
      scores: scores.length,
      cappedAtLine: chunk.cappedAtLine,
    })
    const progress = { done: chunk.consumed, total: item.bytes_total, unit: 'bytes' }
    await run.checkpoint(tx, progress, cursor)
    if (!item.dry_run) await charge(tx, run, encoded, isStored)
  })
}

/** @throws OverQuota, which rolls the transaction back */
async function charge(
  tx: Transaction,
  { queue, quotas, orgId, now }: Run,
  { traceIds, lines }: EncodedChunk,
  isNew: ReadonlySet<string>,
) {
  if (isNew.size === 0) return
  const metric = 'traces_ingested'
  const wanted = { orgId, metric, n: isNew.size, quotas, at: now() } as const
  const charged = await chargeUsage(tx, queue, wanted)
  if (charged.ok) return
  const linesOfNew = lines.filter((_, i) => isNew.has(traceIds[i] as string))
  throw new OverQuota(linesOfNew[charged.left] as number)
}

/**
 * Inserts the rows whose ids are still new. Rows that the database refuses are found by halving, so
 * that each costs only itself.
 */
async function insertRows(tx: Transaction, encoded: EncodedChunk, refused: LineFault[]) {
  async function insert(from: number, to: number): Promise<string[]> {
    if (from === to) return []
    try {
      return await tx.savepoint((inner) => copyTraces(inner, encoded.rows, from, to))
    } catch (error) {
      if (!isFaultOfRow(error)) throw error
      if (to - from > 1) {
        const half = (from + to) >> 1
        return [...(await insert(from, half)), ...(await insert(half, to))]
      }
      refused.push({
        line: encoded.lines[from] as number,
        code: 'refused',
        message: `The database refused the record: ${(error as Error).message}`,
      })
      return []
    }
  }
  return insert(0, encoded.traceIds.length)
}

/** Data exceptions, limits of the program, and values that a constraint does not admit. */
function isFaultOfRow(error: unknown) {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^(22...|54...|23502|23514)$/.test(code)
}
