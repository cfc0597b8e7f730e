import { rm } from 'node:fs/promises'
import { builtVersion, buildDataset } from '../../jobs/build-dataset.ts'
import { order } from '../../jobs/rules/core/order.ts'
import type { RareMember } from '../../jobs/rules/datasets/formats.ts'
import { SPLITS } from '../../jobs/rules/datasets/recipe.ts'
import { awaitDeletions } from '../../sql/datasets/deleted-traces.ts'
import { deleteRows } from '../../sql/datasets/rows.ts'
import { findVersionToBuild } from '../../sql/datasets/versions.ts'
import type { VersionRow } from '../../sql/datasets/versions.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { awaitedLater } from '../runtime/awaited-later.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'
import { buildProgress } from './build-progress.ts'
import { countMade, listRareMembers } from './chosen-rows.ts'
import { describeRows } from './describe-rows.ts'
import { openDuck } from '../runtime/duckdb.ts'
import type { Duck } from '../runtime/duckdb.ts'
import { findNear } from './find-near.ts'
import { describeStreams, finishFiles } from './finish-files.ts'
import { makeRows } from './make-rows.ts'
import { refuseIncomplete } from './refuse-incomplete.ts'
import { openRowThread } from './open-row-thread.ts'
import { publish, versionGone } from './publish-version.ts'
import { openRowList } from './row-list.ts'
import type { RowList } from './row-list.ts'
import type { MadeRows } from './row-output.ts'
import { selectIntoList } from './select-traces.ts'
import { countLeaks, settleRows, settlesMore, settleTraces } from './settle-rows.ts'
import type { Drop } from './settle-rows.ts'
import type { Shard } from './shard-files.ts'
import { storeRows } from './store-rows.ts'
import { openParquetWriter } from './write-parquet.ts'
import type { ConvertShard } from './write-parquet.ts'

/**
 * Builds a version: lists its traces in one read, makes their rows, writes JSONL, converts that to
 * Parquet, verifies it, and makes the version ready in one transaction. A run that was cut off starts
 * again from the beginning; nothing of a version can be seen before it is ready.
 * @param shardBytes the size that all files reach, except the last of a split
 */
export function makeBuildHandler({ shardBytes }: { shardBytes: number }) {
  return handler(buildDataset, async (payload, run) => {
    const version_id = builtVersion(payload)
    const version = await findVersionToBuild(run.sql, run.orgId, version_id)
    if (!version) throw versionGone()
    if (version.ready_at) return { version_id, row_count: version.row_count }
    // A build of minutes is not begun for a storage that cannot take it.
    const fault = await run.storage.findFault()
    if (fault) throw fault
    const folder = await run.makeScratchFolder()
    const duck = await openDuck(folder, run.signal)
    const building = { version, run, duck, folder, shardBytes }
    try {
      return await build(building)
    } catch (error) {
      if (run.signal.reason === 'canceled') await clearRows(building)
      throw error
    } finally {
      await duck.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
}

export const buildDatasetHandler = makeBuildHandler({ shardBytes: 64_000_000 })

async function build(building: Building) {
  const { version, run, duck, folder } = building
  const { recipe } = version
  const { drop, counts } = countDropped()
  const list = await openRowList(duck)
  await awaitDeletions(run.sql, version.project_id)
  await clearRows(building)
  const { listed: total, ...selected } = await selectIntoList(version, run, list, drop)
  await settleTraces(list.connection, drop)
  run.signal.throwIfAborted()
  const convert = await openParquetWriter(duck, recipe)
  const made = await makeFiles({ ...building, list, drop, total, convert })
  run.signal.throwIfAborted()
  await refuseIncomplete(list.connection, recipe, counts())
  const onProgress = (part: number) => run.progress(buildProgress('comparing rows', part, total))
  const warnings = await settleRows(list.connection, recipe, drop, (scope) =>
    findNear({ list, folder, run, onProgress }, scope),
  )
  const jsonl = await finishFiles(list, made.files, folder)
  const rare = await listRareMembers(list.connection)
  const converting = convertAll(jsonl, made.converted, rare, convert)
  const content_hash = await storeRows(list, run, { versionId: version.id, traceCount: total })
  run.progress(buildProgress('converting', 0, total))
  const streams = await describeStreams(jsonl)
  const files = { jsonl, parquet: await converting }
  await refuseLeaks(list, version)
  const described = await describeRows(list.connection, recipe)
  const funnel = { ...selected, eligible: total, rows_made: await countMade(list.connection) }
  const facts = { ...described, warnings, streams, content_hash, funnel, dropped_counts: counts() }
  await publish({ version, facts, files, traceCount: total }, run)
  return { version_id: version.id, row_count: facts.row_count, content_hash }
}

/**
 * Makes the rows and, while it does, converts every full file to Parquet, unless rows may still be
 * removed from it. Returns all files, and the conversions under way by the path of the file.
 */
async function makeFiles({ convert, ...making }: Making) {
  const { version, run, folder, shardBytes, list, drop } = making
  const { recipe } = version
  const files: Shard[] = []
  const converted = new Map<string, Promise<Shard>>()
  function take(made: MadeRows) {
    for (const reason of made.dropped) drop(reason)
    for (const row of made.rows) list.addRow(row)
    if (made.files.length === 0) return
    files.push(...made.files)
    list.flush()
    if (settlesMore(recipe) || list.hasRareMembers()) return
    const full = made.files.filter(({ size_bytes: bytes }) => bytes >= shardBytes)
    for (const file of full) converted.set(file.localPath, convert(file, 'rows', []))
  }
  const thread = openRowThread({ recipe, folder, shardBytes }, run.signal, take)
  try {
    await makeRows({ ...making, thread })
  } finally {
    await thread.close()
  }
  const inOrder = SPLITS.flatMap((name) => files.filter(({ split }) => split === name))
  return { files: inOrder, converted }
}

/**
 * Converts all files to Parquet. A file that lost rows after its conversion is converted again, and so
 * are all when a rare member of messages turned up: the files of a version have the same columns.
 */
function convertAll(
  files: readonly Shard[],
  converted: ReadonlyMap<string, Promise<Shard>>,
  rare: readonly RareMember[],
  convert: ConvertShard,
) {
  const all = files.map(async (file) => {
    // Also where it is converted again, into the same file.
    const done = await converted.get(file.localPath)
    const parquet = done && rare.length === 0 ? done : await convert(file, 'chosen', rare)
    return { ...parquet, shard: file.shard }
  })
  return awaitedLater(Promise.all(all))
}

function countDropped() {
  const all = new Map<string, number>()
  return {
    drop(reason: string, count = 1) {
      if (count > 0) all.set(reason, (all.get(reason) ?? 0) + count)
    },
    counts: () => Object.fromEntries([...all].sort(([a], [b]) => order(a, b))),
  }
}

/** Deletes the rows that a cut-off run has stored. */
async function clearRows({ version, run }: Building) {
  // From the checkpoint to the end of its transaction nobody can cancel the job.
  const hold = (tx: Transaction) =>
    run.checkpoint(tx, { done: 0, unit: 'traces', note: 'selecting' })
  await deleteRows(run.sql, run.orgId, version.id, hold)
}

async function refuseLeaks(list: RowList, { id, recipe }: VersionRow) {
  const leaks = await countLeaks(list.connection, recipe)
  if (leaks > 0)
    throw new Error(`Version ${id} has ${leaks} units in two splits or rows twice or almost`)
}

interface Building {
  readonly version: VersionRow
  readonly run: Run
  readonly duck: Duck
  readonly folder: string
  readonly shardBytes: number
}
type Making = Building & { list: RowList; drop: Drop; total: number; convert: ConvertShard }
