import { stat } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { columnsOf } from '../../jobs/rules/datasets/columns.ts'
import type { Columns } from '../../jobs/rules/datasets/columns.ts'
import { loaderFeatures } from '../../jobs/rules/datasets/features.ts'
import type { RareMember } from '../../jobs/rules/datasets/formats.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { awaitedLater } from '../runtime/awaited-later.ts'
import { quoted, readOne } from '../runtime/duckdb.ts'
import type { Duck } from '../runtime/duckdb.ts'
import type { Source } from './chosen-rows.ts'
import { hashFiles } from './hash-files.ts'
import { dropLines, proveParquet, readLines } from './prove-parquet.ts'
import type { Shard } from './shard-files.ts'

/**
 * Converts a JSONL file. Rejects with a failure of this file or of one before it.
 * @param source the table of the list that has the rows of the file, under its split and shard
 * @param rare the members of messages that make columns besides those every version has
 */
export type ConvertShard = (shard: Shard, source: Source, rare: RareMembers) => Promise<Shard>

/** Converts JSONL files to Parquet files next to them, two at a time, and proves each (`proveParquet`). */
export async function openParquetWriter(duck: Duck, recipe: Recipe): Promise<ConvertShard> {
  const [first, second] = [await openConverter(duck, recipe), await openConverter(duck, recipe)]
  let begun = 0
  return (...file) => (begun++ % 2 === 0 ? first : second)(...file)
}

/** Converts files one after another, over a connection of its own. */
async function openConverter(duck: Duck, recipe: Recipe): Promise<ConvertShard> {
  const connection = await duck.connect()
  let last: Promise<unknown> = Promise.resolve()
  return (shard, source, rare) => {
    const work = () => convert(connection, { recipe, rare }, shard, source)
    // Its caller awaits it later, or never after a failure of its own.
    const result = awaitedLater(last.then(() => duck.hold(work)))
    last = result
    return result
  }
}

async function convert(
  connection: DuckDBConnection,
  { recipe, rare }: Shape,
  shard: Shard,
  source: Source,
): Promise<Shard> {
  const localPath = shard.localPath.replace(/jsonl$/, 'parquet')
  const columns = columnsOf(recipe, rare)
  await readLines(connection, shard, columns)
  await write(connection, columns, shard, localPath)
  await proveParquet(connection, { jsonl: shard, localPath, columns, source })
  await dropLines(connection)
  const { size } = await stat(localPath)
  return { ...shard, localPath, size_bytes: size, sha256: await hashFiles([localPath]) }
}

async function write(
  connection: DuckDBConnection,
  columns: Columns,
  shard: Shard,
  localPath: string,
) {
  const [rows] = await readOne<[bigint]>(
    connection,
    `copy lines to ${quoted(localPath)} (format parquet, compression zstd, compression_level 3,
      row_group_size ${ROW_GROUP_ROWS}, row_group_size_bytes ${ROW_GROUP_BYTES},
      kv_metadata {huggingface: ${quoted(loaderFeatures(columns))}})`,
  )
  if (Number(rows) !== shard.row_count) {
    throw new Error(
      `DuckDB read ${rows} of ${shard.row_count} rows of ${shard.split}-${shard.shard}`,
    )
  }
}

/** Rows are a few kB: DuckDB's default of 122,880 a group would hold gigabytes. */
const ROW_GROUP_ROWS = 4096
const ROW_GROUP_BYTES = 8 << 20
type RareMembers = readonly RareMember[]
interface Shape {
  readonly recipe: Recipe
  readonly rare: RareMembers
}
