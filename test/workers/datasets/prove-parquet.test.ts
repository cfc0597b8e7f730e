import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { columnsOf } from '../../../jobs/rules/datasets/columns.ts'
import { completeRecipe } from '../../../jobs/rules/datasets/recipe.ts'
import { hashFiles } from '../../../workers/datasets/hash-files.ts'
import type { RawTrace } from '../../../workers/datasets/listed-trace.ts'
import { proveParquet, readLines } from '../../../workers/datasets/prove-parquet.ts'
import { openRowList } from '../../../workers/datasets/row-list.ts'
import { openParquetWriter } from '../../../workers/datasets/write-parquet.ts'
import { openDuck } from '../../../workers/runtime/duckdb.ts'
import { candidate } from '../../support/training-rows.ts'
import { writeRows } from '../../support/written-rows.ts'

t.test('the proof of a Parquet file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'adl-proof-'))
  const duck = await openDuck(folder, new AbortController().signal)
  t.teardown(async () => {
    await duck.close()
    await rm(folder, { recursive: true, force: true })
  })
  const recipe = completeRecipe('sft', null, {})
  const columns = columnsOf(recipe, [])
  const list = await openRowList(duck)
  const jsonl = writeRows(recipe, Array.from({ length: 5000 }, makeTrace), folder, list)
  /** A writer that has failed does not go on. */
  async function convertAnew(file: typeof jsonl) {
    const convert = await openParquetWriter(duck, recipe)
    return convert(file, 'rows', [])
  }
  const { localPath: good } = await convertAnew(jsonl)
  const connection = await duck.connect()
  await readLines(connection, jsonl, columns)
  const prove = (localPath: string) =>
    proveParquet(connection, { jsonl, localPath, columns, source: 'rows' })

  /** The path of a Parquet file of what the query, over the rows of the good one, selects. */
  async function plant(query: string) {
    const path = join(folder, `planted-${Math.random()}.parquet`)
    await connection.run(`copy (
      with good as (select * from read_parquet('${good}', file_row_number = true))
      ${query}) to '${path}' (format parquet)`)
    return path
  }
  const replaced = (columns: string) => `
    select * exclude (file_row_number) replace (${columns}) from good order by file_row_number`
  const isRow = (row: number) => `file_row_number = ${row}`
  const changed = (row: number, member: string) =>
    replaced(`case when ${isRow(row)} then list_transform(messages, lambda m: struct_update(
      m, ${member})) else messages end as messages`)
  const said = (row: number, content: string) => changed(row, `content := ${content}`)
  const called = (row: number, calls: string) => changed(row, `tool_calls := ${calls}::json[]`)
  const otherwise = /holds a row otherwise than it was written/
  const other = /has rows other than its lines/

  t.test('holds for what was converted, however DuckDB writes it as text', async () => {
    await prove(good)
    await prove(await plant(replaced('tools as tools')))
  })

  t.test('finds a value that is not the one of the line', async (t) => {
    for (const row of [0, 7, 4999]) await t.rejects(prove(await plant(said(row, `'x'`))), other)
    for (const row of [3, 3000]) await t.rejects(prove(await plant(said(row, 'null'))), other)
    await t.rejects(prove(await plant(said(4001, 'm.content || chr(32)'))), other)
    await t.rejects(prove(await plant(called(4002, '[]'))), other)
    const scores = `'{"reward":2}'::json`
    const scored = `case when ${isRow(9)} then struct_update(provenance, scores := ${scores})
      else provenance end as provenance`
    await t.rejects(prove(await plant(replaced(scored))), other)
  })

  t.test('finds rows that are lost, added, repeated or in another order', async (t) => {
    const all = 'select * exclude (file_row_number) from good'
    const orders = [
      `${all} where not ${isRow(4000)} order by file_row_number`,
      `${all} where not ${isRow(4999)} order by file_row_number`,
      `from (${all} order by file_row_number) union all ${all} where ${isRow(1)}`,
      `${all} order by case when ${isRow(2)} then 0.5 else file_row_number end`,
      `select g.* exclude (file_row_number) from good o join good g
        on g.file_row_number = case when o.file_row_number = 8 then 6 else o.file_row_number end
        order by o.file_row_number`,
    ]
    for (const query of orders) await t.rejects(prove(await plant(query)), other, query)
  })

  t.test('finds columns of another type, name or number', async (t) => {
    const columns = [
      replaced('list_transform(tools, lambda x: x::varchar) as tools'),
      'select messages, tools as tool, provenance from good order by file_row_number',
      'select messages, provenance from good order by file_row_number',
      'select * from good order by file_row_number',
    ]
    for (const query of columns) await t.rejects(prove(await plant(query)), /has columns/, query)
  })

  t.test('finds members of lines that the columns do not have', async (t) => {
    const lines = (await readFile(jsonl.localPath, 'utf8')).split('\n')
    const localPath = join(folder, 'beside.jsonl')
    for (const from of [0, 2500, 4900]) {
      // As long as before, so that every line stands where the list has it.
      const beside = lines.map((line, at) =>
        at >= from && at < from + 50
          ? line.replace('"session_id":null', '"sessions__":null')
          : line,
      )
      await writeFile(localPath, beside.join('\n'))
      const file = { ...jsonl, localPath, sha256: await hashFiles([localPath]) }
      await t.rejects(convertAnew(file), otherwise, `from line ${from} on`)
    }
  })

  t.test('finds lines that are not those that were written', async (t) => {
    const lines = await readFile(jsonl.localPath, 'utf8')
    const localPath = join(folder, 'damaged.jsonl')
    await writeFile(localPath, lines.replace('answer 4711', 'answer 4712'))
    await t.rejects(convertAnew({ ...jsonl, localPath }), /is not what was written/)
  })

  t.test('finds lines that are not those of the rows in the list', async (t) => {
    await connection.run(`update rows set hash = unhex(repeat('ab', 32)) where index = 4321`)
    await t.rejects(prove(good), other)
  })
})

/** Every seventh has texts and numbers that DuckDB writes otherwise than canonical JSON does. */
function makeTrace(_: unknown, index: number): RawTrace {
  const isAwkward = index % 7 === 0
  const said = [
    { role: 'user', content: isAwkward ? `\u001b[1m${index}\u007f` : `question ${index}` },
  ]
  const output = { role: 'assistant', content: `answer ${index}` }
  const call = { id: 'call', rendered_input: said, output, tools: [], tool_calls: [] }
  return {
    trace: {
      ...candidate,
      trace_id: `trace-${String(index).padStart(5, '0')}`,
      scores: { reward: isAwkward ? 1e21 : 0.5 },
      task_id: null,
      index,
      splitIndex: 0,
      period: '2026-01-01',
      content_bytes: 1000,
      created_at: new Date(0),
      revision: 0,
    },
    content: zstdCompressSync(JSON.stringify({ spans: [], llm_calls: [call] })),
    user_input_preview: null,
    final_output_preview: null,
    corrected_output: null,
  }
}
