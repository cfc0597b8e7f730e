import { hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { columnsOf, trainingColumns } from '../../jobs/rules/datasets/columns.ts'
import type { Columns } from '../../jobs/rules/datasets/columns.ts'
import { loaderFeatures } from '../../jobs/rules/datasets/features.ts'
import type { RareMember } from '../../jobs/rules/datasets/formats.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { trainingJson } from '../../jobs/rules/core/training-json.ts'
import { quoted, readChunks, readOne } from '../runtime/duckdb.ts'
import type { Bytes, Duck } from '../runtime/duckdb.ts'
import { hashFiles } from './hash-files.ts'
import { canonicalSql, duckType, lineType, readSql } from './parquet-columns.ts'
import { countStretches, hashesQuery } from './chosen-rows.ts'
import type { Source } from './chosen-rows.ts'
import type { Shard } from './shard-files.ts'

/**
 * Converts a JSONL file. Rejects with the first failure, of this file or of one before it.
 * @param source the table of the list that has the rows of the file, under its split and shard
 * @param rare the members of messages that make columns besides those every version has
 */
export type ConvertShard = (shard: Shard, source: Source, rare: RareMembers) => Promise<Shard>

/**
 * Converts JSONL files to Parquet files next to them, one at a time, and verifies each: it has the
 * declared columns, and its rows, read back, are those of the list, in their order and with their hash.
 */
export async function openParquetWriter(duck: Duck, recipe: Recipe): Promise<ConvertShard> {
  const connection = await duck.connect()
  let last: Promise<unknown> = Promise.resolve()
  return (shard, source, rare) => {
    const result = last.then(() => convert(connection, { recipe, rare }, shard, source))
    duck.hold(result)
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
  await write(connection, columns, shard, localPath)
  await checkColumns(connection, columns, localPath)
  const training = trainingColumns(recipe, rare)
  await checkRows(connection, training, { ...shard, localPath }, source)
  const { size } = await stat(localPath)
  return { ...shard, localPath, size_bytes: size, sha256: await hashFiles([localPath]) }
}

async function write(
  connection: DuckDBConnection,
  columns: Columns,
  shard: Shard,
  localPath: string,
) {
  const all = Object.entries(columns)
  const types = all.map(([name, column]) => `${quoted(name)}: ${quoted(lineType(column))}`)
  const [rows] = await readOne<[bigint]>(
    connection,
    `copy (
      select ${all.map(([name, column]) => readSql(name, column)).join(', ')}
      from read_json(${quoted(shard.localPath)}, format = 'newline_delimited', auto_detect = false,
        maximum_object_size = ${Math.max(shard.longest, READ_BYTES)}, columns = {${types.join(', ')}}))
    to ${quoted(localPath)} (format parquet, compression zstd, compression_level 3,
      row_group_size ${ROW_GROUP_ROWS}, row_group_size_bytes ${ROW_GROUP_BYTES},
      kv_metadata {huggingface: ${quoted(loaderFeatures(columns))}})`,
  )
  if (Number(rows) !== shard.row_count) {
    throw new Error(
      `DuckDB read ${rows} of ${shard.row_count} rows of ${shard.split}-${shard.shard}`,
    )
  }
}

async function checkColumns(connection: DuckDBConnection, columns: Columns, localPath: string) {
  const declared = Object.entries(columns).map(
    ([name, column]) => `cast(null as ${duckType(column)}) as "${name}"`,
  )
  const [want, have] = [
    await typesOf(connection, `select ${declared.join(', ')}`),
    await typesOf(connection, `select * from ${quoted(localPath)}`),
  ]
  if (want !== have) throw new Error(`The Parquet file has columns ${have} instead of ${want}`)
}

async function typesOf(connection: DuckDBConnection, query: string) {
  const result = await connection.runAndReadAll(`describe ${query}`)
  return JSON.stringify(result.getRows().map(([name, type]) => [name, type]))
}

/**
 * Reads the file back and compares the hash of each row with the one the list has at its position. Where
 * DuckDB writes a text otherwise than canonical JSON does, it is made canonical here first. Each stretch
 * is a query of its own: only at its end DuckDB frees the memory it needs for the JSON of lists.
 */
async function checkRows(
  connection: DuckDBConnection,
  training: Columns,
  shard: Shard,
  source: Source,
) {
  const text = canonicalSql(training)
  let first = 0
  for (const count of await countStretches(connection, source, shard, STRETCH_BYTES)) {
    const next = first + count
    const want = hashesQuery(source, shard, first, count)
    // They are joined by position: a hash join could take the texts of the whole file into memory.
    await checkStretch(
      connection,
      shard.localPath,
      (columns) => `
      with have as (
        select ${text} as text from read_parquet(${quoted(shard.localPath)}, file_row_number = true)
        where file_row_number >= ${first} and file_row_number < ${next}),
      want as (${want})
      select ${columns} from have positional join want
      where sha256(have.text) is distinct from lower(hex(want.hash))`,
    )
    first = next
  }
  if (first !== shard.row_count) throw new Error(`${shard.localPath} has other rows than the list`)
}

/** @param differing the query for these columns of the rows whose text has another hash than it should */
async function checkStretch(
  connection: DuckDBConnection,
  localPath: string,
  differing: (columns: string) => string,
) {
  const [count, missing] = await readOne<[bigint, bigint]>(
    connection,
    differing('count(*), count(*) filter (where have.text is null or want.hash is null)'),
  )
  if (missing > 0n) throw new Error(`${localPath} has other rows than the list`)
  if (count === 0n) return
  const rows = readChunks<[Bytes, Bytes]>(connection, differing('encode(text), hash'))
  for await (const chunk of rows) {
    for (const [have, want] of chunk) {
      const canonical = trainingJson(JSON.parse(Buffer.from(have.bytes).toString())) ?? ''
      if (hash('sha256', canonical, 'buffer').equals(want.bytes)) continue
      throw new Error(`${localPath} holds a row otherwise than it was written`)
    }
  }
}

/** Rows are a few kB: DuckDB's default of 122,880 a group would hold gigabytes. */
const ROW_GROUP_ROWS = 4096
const ROW_GROUP_BYTES = 8 << 20
/** How many bytes of lines one query verifies, whose texts it has in memory some twelve times. */
const STRETCH_BYTES = 8 << 20
/** Lines are read by twice the longest one, or twice this, and what is read together is one group. */
const READ_BYTES = 1 << 20

type RareMembers = readonly RareMember[]
interface Shape {
  readonly recipe: Recipe
  readonly rare: RareMembers
}
