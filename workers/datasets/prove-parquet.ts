import { open } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { Columns } from '../../jobs/rules/datasets/columns.ts'
import { trainingJson } from '../../jobs/rules/core/training-json.ts'
import { quoted, readChunks, readOne } from '../runtime/duckdb.ts'
import type { Bytes } from '../runtime/duckdb.ts'
import { listedQuery } from './chosen-rows.ts'
import type { Source } from './chosen-rows.ts'
import { hashFiles } from './hash-files.ts'
import { duckType, lineSql, lineType, readSql } from './parquet-columns.ts'
import type { Shard } from './shard-files.ts'

export interface Proving {
  /** The file of lines that it was made of. */
  readonly jsonl: Shard
  /** Where the Parquet file is. */
  readonly localPath: string
  readonly columns: Columns
  /** The table of the list that has the rows of the file, under its split and shard. */
  readonly source: Source
}

/**
 * Proves that a Parquet file has the declared columns and the rows of its lines, in their order. The file and
 * the lines are read anew: all values of each row are those of its line, and its row id is the one that the
 * list has at its place. The lines are those that were hashed as they were made. That nothing of a line is lost
 * where DuckDB reads it shows by rows from all over the file: written as JSON, they are their lines.
 * @throws Error which says what is otherwise
 */
export async function proveParquet(connection: DuckDBConnection, proving: Proving) {
  await checkColumns(connection, proving)
  await checkRows(connection, proving)
  await checkLines(connection, proving)
}

/** The query for the columns of the lines of a file. */
export function linesQuery({ localPath, longest }: Shard, columns: Columns) {
  const all = Object.entries(columns)
  const types = all.map(([name, column]) => `${quoted(name)}: ${quoted(lineType(column))}`)
  return `
    select ${all.map(([name, column]) => readSql(name, column)).join(', ')}
    from read_json(${quoted(localPath)}, format = 'newline_delimited', auto_detect = false,
      maximum_object_size = ${Math.max(longest, READ_BYTES)}, columns = {${types.join(', ')}})`
}

async function checkColumns(connection: DuckDBConnection, { columns, localPath }: Proving) {
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

/** Rows are joined by position: a hash join could take several times the file into memory. */
async function checkRows(connection: DuckDBConnection, proving: Proving) {
  const { jsonl, localPath, columns, source } = proving
  const differs = Object.keys(columns).map(
    (name) => `have."${name}" is distinct from line."${name}"`,
  )
  const [differing] = await readOne<[bigint]>(
    connection,
    `with line as (${linesQuery(jsonl, columns)}), listed as (${listedQuery(source, jsonl)})
    select count(*) from read_parquet(${quoted(localPath)}) have
      positional join line positional join listed
    where ${differs.join(' or ')} or have.provenance.row_id is distinct from listed.row_id`,
  )
  if (differing > 0n) throw new Error(`${localPath} has ${differing} rows other than its lines`)
}

async function checkLines(connection: DuckDBConnection, proving: Proving) {
  const { jsonl, localPath, columns, source } = proving
  if ((await hashFiles([jsonl.localPath])) !== jsonl.sha256)
    throw new Error(`${jsonl.localPath} is not what was written`)
  const apart = Math.ceil(
    Math.max(jsonl.row_count / SAMPLED_ROWS, jsonl.size_bytes / SAMPLED_BYTES),
  )
  const query = `
    with listed as (
      select *, row_number() over (order by byte_offset) - 1 as place from (${listedQuery(source, jsonl)})),
    sampled as (
      select *, sum(length) over (order by place) as bytes from listed where place % ${apart} = 0)
    select encode(text), byte_offset, length
    from (select file_row_number as place, ${lineSql(columns)} as text
        from read_parquet(${quoted(localPath)}, file_row_number = true)
        where file_row_number in (
          select place from sampled where place = 0 or bytes <= ${2 * SAMPLED_BYTES}))
      join sampled using (place)`
  await using lines = await open(jsonl.localPath)
  for await (const chunk of readChunks<[Bytes, bigint, number]>(connection, query)) {
    for (const [{ bytes }, from, length] of chunk) {
      const line = new Uint8Array(length)
      await lines.read(line, 0, length, Number(from))
      if (canonical(bytes) !== canonical(line))
        throw new Error(`${localPath} holds a row otherwise than it was written`)
    }
  }
}

function canonical(json: Uint8Array) {
  return trainingJson(JSON.parse(Buffer.from(json).toString()))
}

/** DuckDB takes several times their size to write them as JSON. */
const SAMPLED_ROWS = 200
const SAMPLED_BYTES = 1 << 20
/** For rows that are all short. */
const READ_BYTES = 1 << 20
