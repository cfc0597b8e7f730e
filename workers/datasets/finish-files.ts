import { join } from 'node:path'
import type { FileFacts } from '../../sql/datasets/versions.ts'
import type { RowList } from './row-list.ts'
import { countKept, readKeptLines } from './chosen-rows.ts'
import { copyInThread } from './copy-lines.ts'
import { hashFiles } from './hash-files.ts'
import type { Shard } from './shard-files.ts'

/**
 * Removes the rows that do not stay from the files of a version. A file that keeps all its rows is not
 * written again; a split without rows keeps one empty file. Returns the files in the order of the rows.
 * @param made all files, in the order of splits and shards
 */
export async function finishFiles(list: RowList, made: readonly Shard[], folder: string) {
  const kept = await countKept(list.connection)
  const finished: Shard[] = []
  for (const [split, files] of Map.groupBy(made, (file) => file.split)) {
    const nonEmpty = files.filter((file) => kept(file) > 0)
    const wanted = nonEmpty.length > 0 ? nonEmpty : files.slice(0, 1)
    for (const [shard, file] of wanted.entries()) {
      const whole = kept(file) === file.row_count
      finished.push({ ...(whole ? file : await compact(list, file, folder)), split, shard })
    }
  }
  return finished
}

/** Size and hash of the files of each split as one, and of all files, wherever several have rows. */
export async function describeStreams(all: readonly Shard[]) {
  const files = all.filter(({ row_count: rows }) => rows > 0)
  const streams: Record<string, FileFacts> = {}
  const splits = Map.groupBy(files, ({ split }) => split)
  for (const [split, group] of splits)
    if (group.length > 1) streams[split] = await describeFiles(group)
  // Of a single split, all files are its files.
  const [known] = splits.size === 1 ? Object.values(streams) : []
  if (files.length > 1) streams['all'] = known ?? (await describeFiles(files))
  return streams
}

async function compact({ connection }: RowList, file: Shard, folder: string) {
  const { split, shard, localPath } = file
  const lines: number[] = []
  for await (const chunk of readKeptLines(connection, file))
    for (const [offset, length] of chunk) lines.push(Number(offset), length)
  const to = join(folder, `${split}-${shard}-kept.jsonl`)
  return copyInThread({ from: localPath, to, lines: Uint32Array.from(lines) })
}

async function describeFiles(files: readonly Shard[]): Promise<FileFacts> {
  return {
    size_bytes: files.reduce((sum, file) => sum + file.size_bytes, 0),
    sha256: await hashFiles(files.map(({ localPath }) => localPath)),
  }
}
