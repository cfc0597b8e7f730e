import { describeRefusal } from '../../jobs/rules/org/quota-refusal.ts'
import { forgetUnused } from '../../sql/datasets/deleted-traces.ts'
import { deleteRows } from '../../sql/datasets/rows.ts'
import { findVersionToBuild, publishVersion } from '../../sql/datasets/versions.ts'
import type { FileRow, ReadyFacts, VersionRow } from '../../sql/datasets/versions.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { chargeUsage } from '../../sql/transactions/charge-usage.ts'
import { GiveUp } from '../runtime/give-up.ts'
import type { Run } from '../runtime/handler.ts'
import { buildProgress } from './build-progress.ts'
import type { Shard } from './shard-files.ts'

export interface Finished {
  readonly version: Pick<VersionRow, 'id' | 'recipe'>
  readonly facts: ReadyFacts
  readonly files: Readonly<Record<FileRow['format'], readonly Shard[]>>
  /** How many traces the version was made of. */
  readonly traceCount: number
}

/**
 * Moves the files into the storage, then makes the version ready and counts its rows, in one
 * transaction.
 * @throws GiveUp when the quota is used up or the version has been deleted meanwhile
 */
export async function publish(finished: Finished, run: Run) {
  const { version, facts, files, traceCount } = finished
  const { id: versionId } = version
  const { orgId, storage } = run
  const stored = (['jsonl', 'parquet'] as const).flatMap((format) =>
    files[format].map((shard, _, all) => ({
      localPath: shard.localPath,
      row: describeFile(`datasets/${orgId}/${versionId}`, format, shard, all),
    })),
  )
  run.signal.throwIfAborted()
  for (const { localPath, row } of stored) await storage.adopt(row.storage_key, localPath)
  const rows = stored.map(({ row }) => row)
  const hold = (tx: Transaction) => run.checkpoint(tx, buildProgress('converting', 1, traceCount))
  try {
    await forgetDeleted(versionId, run, hold)
    await run.queue.transaction(run.sql, async (tx: Transaction) => {
      await hold(tx)
      if (!(await publishVersion(tx, orgId, versionId, facts, rows))) throw versionGone()
      await chargeRows(tx, finished, run)
    })
  } catch (error) {
    if (error instanceof GiveUp) await takeBack(versionId, rows, run)
    throw error
  }
}

export function versionGone() {
  return new GiveUp('version_gone', 'The dataset version has been deleted')
}

/** Forgets the traces that were deleted meanwhile and gave no row. */
async function forgetDeleted(versionId: string, { sql, orgId }: Run, hold: Hold) {
  const forgetPage = (after: string): Promise<string | undefined> =>
    sql.begin(async (tx: Transaction) => {
      await hold(tx)
      return forgetUnused(tx, orgId, versionId, { after, limit: NOTES_TOGETHER })
    })
  for (let last: string | undefined = ''; last !== undefined;) last = await forgetPage(last)
}

/**
 * Counts the rows of an sft version against the month's quota.
 * @throws GiveUp, which rolls the transaction back, when they do not fit
 */
async function chargeRows(
  tx: Transaction,
  { version: { recipe }, facts: { row_count: n } }: Finished,
  run: Run,
) {
  if (recipe.dataset_type !== 'sft' || n === 0) return
  const { orgId, queue, quotas } = run
  const metric = 'sft_rows'
  const charged = await chargeUsage(tx, queue, { orgId, metric, n, quotas, at: run.now() })
  if (charged.ok) return
  const refusal = { metric, asked: n, limit: charged.limit, left: charged.left } as const
  // They may fit another plan, or next month.
  throw new GiveUp('quota_exceeded', describeRefusal(refusal), {
    details: refusal,
    retryable: true,
  })
}

/** Deletes the files and rows of a version that will never be ready; one that is ready keeps them. */
async function takeBack(
  versionId: string,
  files: readonly FileRow[],
  { sql, orgId, storage }: Run,
) {
  const version = await findVersionToBuild(sql, orgId, versionId)
  if (version?.ready_at) return
  for (const { storage_key } of files) await storage.delete(storage_key)
  await deleteRows(sql, orgId, versionId)
}

/** A file is stored under its hash, so that a run that lost its claim cannot change a published file. */
function describeFile(
  folder: string,
  format: FileRow['format'],
  { split, shard, row_count, size_bytes, sha256 }: Shard,
  all: readonly Shard[],
): FileRow {
  const of = all.filter((other) => other.split === split).length
  const numbering = `${String(shard).padStart(5, '0')}-of-${String(of).padStart(5, '0')}`
  const path = `data/${split}-${numbering}.${format}`
  const storage_key = `${folder}/${sha256}.${format}`
  return { format, split, shard, path, storage_key, row_count, size_bytes, sha256 }
}

const NOTES_TOGETHER = 10_000
type Hold = (tx: Transaction) => Promise<void>
