import { open } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import type { Columns } from '../../jobs/rules/datasets/columns.ts'
import { trainingJson } from '../../jobs/rules/core/training-json.ts'
import { quoted, readChunks } from '../runtime/duckdb.ts'
import type { Bytes } from '../runtime/duckdb.ts'
import { listedQuery } from './chosen-rows.ts'
import type { Source } from './chosen-rows.ts'
import { hashFiles } from './hash-files.ts'
import { duckType, lineSql, lineType, readSql } from './parquet-columns.ts'
import { readLine } from './shard-files.ts'
import type { Shard } from './shard-files.ts'

export interface Proving {
  /** The file of lines that `readLines` has read. */
  readonly jsonl: Shard
  /** Where the Parquet file is. */
  readonly localPath: string
  readonly columns: Columns
  /** The table of the list that has the rows of the file, under its split and shard. */
  readonly source: Source
}

/** Reads the lines of a file into the table `lines` of the connection, as the columns of a Parquet file. */
export async function readLines(
  connection: DuckDBConnection,
  { localPath, longest }: Shard,
  columns: Columns,
) {
  const all = Object.entries(columns)
  const types = all.map(([name, column]) => `${quoted(name)}: ${quoted(lineType(column))}`)
  await connection.run(`
    create temp table lines as
    select ${all.map(([name, column]) => readSql(name, column)).join(', ')}
    from read_json(${quoted(localPath)}, format = 'newline_delimited', auto_detect = false,
      maximum_object_size = ${Math.max(longest, READ_BYTES)}, columns = {${types.join(', ')}})`)
}

/** Frees the memory of the lines. */
export async function dropLines(connection: DuckDBConnection) {
  await connection.run('drop table lines')
}

/**
 * Proves that a Parquet file has the declared columns and exactly the rows of the table `lines`, in order. It
 * reads the file again and compares every value with `lines`, and each row id with the list. The JSONL file
 * still has the hash that it was written with. Sampled rows, written back as JSON, equal their lines: this
 * shows that DuckDB lost nothing where it read them.
 * @throws Error which says what is otherwise
 */
export async function proveParquet(connection: DuckDBConnection, proving: Proving) {
  const { jsonl, localPath } = proving
  await checkColumns(connection, proving)
  if ((await hashFiles([jsonl.localPath])) !== jsonl.sha256)
    throw new Error(`${jsonl.localPath} is not what was written`)
  await using lines = await open(jsonl.localPath)
  for await (const chunk of readChunks<ProofRow>(connection, proofQuery(proving))) {
    for (const [differs, sampled, from, length] of chunk) {
      if (differs) throw new Error(`${localPath} has rows other than its lines`)
      const line = await readLine(lines, Number(from), length)
      if (!sampled || canonical(sampled.bytes) !== canonical(line))
        throw new Error(`${localPath} holds a row otherwise than it was written`)
    }
  }
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

/**
 * The query for the rows that are not their lines, and for those that are written as JSON besides. Rows are
 * joined by position: a hash join could take several times the file into memory.
 */
function proofQuery({ jsonl, localPath, columns, source }: Proving) {
  const apart = Math.ceil(
    Math.max(jsonl.row_count / SAMPLED_ROWS, jsonl.size_bytes / SAMPLED_BYTES),
  )
  // No hash of DuckDB's: it is the same for an empty list and for null.
  const differs = Object.keys(columns).map(
    (name) => `have."${name}" is distinct from lines."${name}"`,
  )
  return `
    with listed as (
      select *, row_number() over (order by byte_offset) - 1 as place from (${listedQuery(source, jsonl)})),
    sampled as (
      select *, place % ${apart} = 0 and (place = 0 or sum(length)
        filter (where place % ${apart} = 0) over (order by place) <= ${2 * SAMPLED_BYTES}) as is_sampled
      from listed order by place),
    compared as (
      select have.*, is_sampled, byte_offset, length,
        ${differs.join(' or ')}
          or have.provenance.row_id is distinct from sampled.row_id as differs
      from read_parquet(${quoted(localPath)}) have positional join lines positional join sampled)
    select differs, encode(case when not differs then ${lineSql(columns)} end), byte_offset, length
    from compared where differs or is_sampled`
}

/** What differs may have no line; otherwise the text is that of a sampled row. */
type ProofRow = [differs: boolean, text: Bytes | null, byteOffset: bigint, length: number]

function canonical(json: Uint8Array) {
  return trainingJson(JSON.parse(Buffer.from(json).toString()))
}

/** DuckDB takes several times their size to write them as JSON. */
const SAMPLED_ROWS = 200
const SAMPLED_BYTES = 1 << 20
/** The least size of the buffer that DuckDB reads lines into. */
const READ_BYTES = 1 << 20
