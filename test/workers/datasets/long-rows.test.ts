import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { completeRecipe } from '../../../jobs/rules/datasets/recipe.ts'
import { openBatchMaker } from '../../../workers/datasets/batch-maker.ts'
import { openShardFiles } from '../../../workers/datasets/shard-files.ts'
import { openSignatureFile } from '../../../workers/datasets/signature-file.ts'
import { openDuck } from '../../../workers/runtime/duckdb.ts'
import type { RawTrace } from '../../../workers/datasets/listed-trace.ts'
import { openRowList } from '../../../workers/datasets/row-list.ts'
import { openParquetWriter } from '../../../workers/datasets/write-parquet.ts'
import { candidate } from '../../support/training-rows.ts'
import { writeRows } from '../../support/written-rows.ts'

t.test('rows of megabytes', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'adl-long-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const recipe = completeRecipe('sft', null, {})
  const traces = Array.from({ length: 24 }, (_, index) => longTrace(index))

  t.test('are written one by one, however small their contents are', async (t) => {
    const files = openShardFiles(folder, Infinity)
    const sizes: number[] = []
    const write: typeof files.write = (...row) => {
      sizes.push(statSync(join(folder, 'train-0.jsonl')).size)
      return files.write(...row)
    }
    const signatures = openSignatureFile(folder)
    const maker = openBatchMaker(recipe, { files: { ...files, write }, signatures })
    t.equal([...maker.make(traces, new Map())].flatMap(({ rows }) => rows).length, traces.length)
    const late = sizes.filter((size, rows) => size < rows * ROW_BYTES)
    t.same(late, [], 'each row is on disk before the next')
    for (const _ of maker.finish()) continue
  })

  t.test('become one Parquet file within the memory that DuckDB has', async (t) => {
    const duck = await openDuck(folder, new AbortController().signal)
    t.teardown(() => duck.close())
    const list = await openRowList(duck)
    const file = writeRows(recipe, traces, folder, list)
    t.ok(file.size_bytes > traces.length * ROW_BYTES)
    const convert = await openParquetWriter(duck, recipe)
    t.equal((await convert(file, 'rows', [])).row_count, traces.length)
  })
})

function longTrace(index: number): RawTrace {
  const said = [{ role: 'user', content: `question ${index}` }]
  const call = {
    id: 'call',
    rendered_input: said,
    output: { content: 'word '.repeat(ROW_BYTES / 5) },
  }
  const content = { spans: [], llm_calls: [{ ...call, tools: [], tool_calls: [] }] }
  return {
    trace: {
      ...candidate,
      trace_id: `trace-${index}`,
      task_id: null,
      index,
      splitIndex: 0,
      period: '2026-01-01',
      content_bytes: 1000,
      created_at: new Date(0),
      revision: 0,
    },
    content: zstdCompressSync(JSON.stringify(content)),
    user_input_preview: null,
    final_output_preview: null,
    corrected_output: null,
  }
}

const ROW_BYTES = 3_000_000
