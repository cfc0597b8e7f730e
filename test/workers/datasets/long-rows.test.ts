import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { completeRecipe } from '../../../jobs/rules/datasets/recipe.ts'
import { MADE_BYTES, openBatchMaker } from '../../../workers/datasets/batch-maker.ts'
import { openDuck } from '../../../workers/runtime/duckdb.ts'
import type { RawTrace } from '../../../workers/datasets/listed-trace.ts'
import { openRowList } from '../../../workers/datasets/row-list.ts'
import { openShardFile } from '../../../workers/datasets/shard-files.ts'
import { openParquetWriter } from '../../../workers/datasets/write-parquet.ts'
import { candidate } from '../../support/training-rows.ts'

t.test('rows of megabytes', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'adl-long-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const recipe = completeRecipe('sft', null, {})
  const traces = Array.from({ length: 24 }, (_, index) => longTrace(index))

  t.test('are made some at a time, however small their contents are', async (t) => {
    const maker = openBatchMaker(recipe)
    let left = traces
    while (left.length > 0) {
      const { lines, rows, taken } = maker.make(left, new Map())
      t.equal(rows.length, taken)
      t.ok(taken > 0 && lines.length < MADE_BYTES + 2 * ROW_BYTES, `${taken}: ${lines.length}`)
      left = left.slice(taken)
    }
  })

  t.test('become one Parquet file within the memory that DuckDB has', async (t) => {
    const duck = await openDuck(folder, new AbortController().signal)
    t.teardown(() => duck.close())
    const list = await openRowList(duck)
    const file = await openShardFile(join(folder, 'train-0.jsonl'))
    const maker = openBatchMaker(recipe)
    for (const trace of traces) {
      const { lines, rows } = maker.make([trace], new Map())
      for (const row of rows) list.addRow({ ...row, shard: 0, byteOffset: await file.write(lines) })
    }
    list.flush()
    const shard = { split: 'train' as const, shard: 0, ...(await file.finish()) }
    const convert = await openParquetWriter(duck, recipe)
    t.equal((await convert(shard, 'rows', [])).row_count, traces.length)
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
