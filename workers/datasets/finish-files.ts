import { createReadStream } from 'node:fs'
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { SPLITS } from '../../jobs/rules/dataset-recipe.ts'
import type { Split } from '../../jobs/rules/dataset-recipe.ts'
import type { FileFacts } from '../../sql/dataset-versions.ts'
import { readChunks } from './duckdb.ts'
import type { RowList } from './row-list.ts'
import { openShardFile } from './shard-files.ts'
import type { Shard } from './shard-files.ts'

/**
 * The files of a version, in the order of its rows: those that were made, without the rows that do not
 * stay. A file all of whose rows stay is the one that was made; a split without rows has an empty one.
 * @param made all files, in the order of splits and shards
 */
export async function finishFiles(list: RowList, made: readonly Shard[], folder: string) {
  const kept = await countKept(list)
  const finished: Shard[] = []
  for (const [split, files] of Map.groupBy(made, (file) => file.split)) {
    const nonEmpty = files.filter((file) => kept(file) > 0)
    const first = files[0] as Shard
    const wanted = nonEmpty.length > 0 ? nonEmpty : [first]
    for (const [shard, file] of wanted.entries()) {
      const whole = kept(file) === file.row_count
      finished.push({ ...(whole ? file : await compact(list, file, folder)), split, shard })
    }
  }
  return finished
}

/** Size and hash of the files of a split as one, and of all files, where that is more than one. */
export async function describeStreams(files: readonly Shard[]) {
  const streams: Record<string, FileFacts> = {}
  const groups: [string, readonly Shard[]][] = [
    ...Map.groupBy(files, ({ split }) => split),
    ['all', files],
  ]
  for (const [name, group] of groups) if (group.length > 1) streams[name] = await hashAll(group)
  return streams
}

async function countKept({ connection }: RowList) {
  const query = 'select side, made_shard, count(*) from chosen group by side, made_shard'
  const counts = new Map<string, number>()
  for await (const chunk of readChunks<[number, number, bigint]>(connection, query)) {
    for (const [side, shard, n] of chunk) counts.set(`${SPLITS[side]} ${shard}`, Number(n))
  }
  return ({ split, shard }: Shard) => counts.get(`${split} ${shard}`) ?? 0
}

async function compact(
  { connection }: RowList,
  { split, shard, localPath }: Shard,
  folder: string,
) {
  const from = await open(localPath)
  const to = await openShardFile(join(folder, `${split}-${shard}-kept.jsonl`))
  try {
    for await (const chunk of readChunks<[bigint, number]>(connection, keptRows(split, shard))) {
      for (const [place, length] of chunk) {
        const line = new Uint8Array(length)
        const { bytesRead } = await from.read(line, 0, length, Number(place))
        if (bytesRead < length)
          throw new Error(`${localPath} ends before byte ${place} + ${length}`)
        await to.write(line)
      }
    }
    return await to.finish()
  } finally {
    await from.close()
    await to.close()
  }
}

function keptRows(split: Split, shard: number) {
  return `
    select made_place, length from chosen
    where side = ${SPLITS.indexOf(split)} and made_shard = ${shard} order by ordinal`
}

async function hashAll(files: readonly Shard[]): Promise<FileFacts> {
  const hash = createHash('sha256')
  for (const { localPath } of files) {
    for await (const bytes of createReadStream(localPath, { highWaterMark: READ_BYTES })) {
      hash.update(bytes as Buffer)
    }
  }
  const size_bytes = files.reduce((sum, file) => sum + file.size_bytes, 0)
  return { size_bytes, sha256: hash.digest('hex') }
}

const READ_BYTES = 1 << 20
