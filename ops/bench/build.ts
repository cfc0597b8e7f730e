// How fast a dataset version is built, against DuckDB alone turning the same JSONL into Parquet:
// [DATABASE_URL=...] node ops/bench/build.ts [--megabytes 300] [--seed 1] [--calls growing] [--smoke]
// With --short it is made of --rows 1000000 traces of a question and an answer, rows of about 1 kB.
// With --near it leaves out near-duplicates, and keeps them out of two splits.
// With --builds 2 so many versions of the same traces are built at once: the figures are of the first,
// but for the memory, which is of the process that builds them all. It is read from /proc.
import { DuckDBInstance } from '@duckdb/node-api'
import { join } from 'node:path'
import { columnsOf } from '../../jobs/rules/datasets/columns.ts'
import { completeRecipe } from '../../jobs/rules/datasets/recipe.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import type { Sql } from '../../sql/core/db.ts'
import { insertTraces } from '../../sql/traces/trace-inserts.ts'
import { duckType } from '../../workers/datasets/parquet-columns.ts'
import { median, peakMiB, print, report, round, whole } from './figures.ts'
import { generateTraceLines } from './generate.ts'
import { readCalls } from './model-calls.ts'
import { readOptions } from './options.ts'
import { openBenchFolder, withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'
import { startService } from './service.ts'
import { generateShortLines } from './short-traces.ts'

const options = readOptions(
  { megabytes: [300, 1], seed: [1, 1], builds: [1, 1], rows: [1_000_000, 500] },
  {
    calls: { type: 'string', default: 'growing' },
    short: { type: 'boolean', default: false },
    near: { type: 'boolean', default: false },
  },
)
const calls = readCalls(options.calls)
await using scratch = await openBenchFolder('build')
const folder = scratch.path
await withBenchDatabase('build', measure)

async function measure(bench: Bench) {
  const { sql, owner } = bench
  await storeTraces(sql, owner, generateLines())
  await sql`vacuum analyze`
  const built = await build(bench)
  const raw = await rawSeconds(built.files.map((file) => join(folder, 'storage', file)))
  const megabytes = built.bytes / 1e6
  print([
    {
      rows: built.rows,
      jsonl_mb: Math.round(megabytes),
      build_s: round(built.seconds),
      build_mb_s: round(megabytes / built.seconds),
      duckdb_s: round(raw),
      duckdb_mb_s: round(megabytes / raw),
      ratio: round(raw / built.seconds),
      worker_rss_peak_mib: built.rssMiB,
    },
  ])
  const near = options.near ? ', no near-duplicates' : ''
  const atOnce = options.builds > 1 ? `, ${options.builds} at once` : ''
  report({
    what: `building a version, ${options.short ? 'short rows' : `${calls} calls`}${near}${atOnce}`,
    ratio: round(raw / built.seconds),
    figures: `${whole(built.rows)} rows, ${whole(megabytes)} MB, ${whole(megabytes / built.seconds)} against ${whole(megabytes / raw)} MB/s; ${whole(built.rssMiB)} MiB at most`,
  })
}

function generateLines() {
  const { seed, rows, megabytes, short } = options
  if (short) return generateShortLines(rows, seed)
  return generateTraceLines({ bytes: megabytes * 1e6, seed, calls })
}

/** All judged as worth keeping. */
async function storeTraces(sql: Sql, owner: Bench['owner'], lines: Iterable<string>) {
  for (const batch of batchesOf(lines, 200)) {
    await insertTraces(
      sql,
      batch.map((line) => ({ ...toTraceRow(asTrace(line), 'shared'), ...owner })),
    )
  }
  await sql`
    insert into verdicts (org_id, project_id, period, trace_id, verdict, needs_review, quality_avg,
      eval_verdict, reasons, policy_agent_name, policy_version)
    select org_id, project_id, period, trace_id, 'keep', false, 1, 'pass', '[]', '', 0 from traces`
}

function asTrace(line: string) {
  const { messages, tools, ...members }: GeneratedLine = JSON.parse(line)
  const call = messages && { rendered_input: messages.slice(0, -1), output: messages.at(-1), tools }
  const given = { ...members, ...(call && { llm_calls: [call] }) }
  const read = readTrace(given, { traceId: () => '', now: new Date() })
  if ('faults' in read) throw new Error(read.faults[0]?.message)
  return read.trace
}

/** Through the API, by a worker process of its own. Returns the figures of the first build. */
async function build(bench: Bench) {
  const service = await startService(bench, folder, 'datasets')
  const recipe = options.near ? { options: { dedupe: 'near' } } : {}
  try {
    const [first, ...others] = await Promise.all(
      Array.from({ length: options.builds }, async (_, n) => {
        const wanted = { name: `bench ${n}`, dataset_type: 'sft' }
        const { id } = await service.call<{ id: string }>('POST', '/datasets', wanted)
        return service.call<Started>('POST', `/datasets/${id}/build`, recipe)
      }),
    )
    if (!first) throw new RangeError('--builds is at least 1')
    const ended = service.waitForJob<{ row_count: number }>(first.job_id)
    for (const { job_id } of others) await service.waitForJob(job_id)
    const { seconds, result } = await ended
    const rssMiB = await peakMiB(service.pid)
    return { rows: result.row_count, seconds, rssMiB, ...(await listFiles(bench, first)) }
  } finally {
    await service.stop()
  }
}

async function listFiles({ sql }: Bench, { version_id }: Started) {
  const files = await sql<{ storage_key: string; size_bytes: number }[]>`
    select storage_key, size_bytes from dataset_files
    where version_id = ${version_id} and format = 'jsonl' and row_count > 0 order by shard`
  return {
    bytes: files.reduce((sum, { size_bytes }) => sum + size_bytes, 0),
    files: files.map(({ storage_key }) => storage_key),
  }
}

/** The median of three runs on one thread, as the build has one a conversion; the build has one run, too. */
async function rawSeconds(files: readonly string[]) {
  const columns = columnsOf(completeRecipe('sft', null, {}), [])
  const types = Object.entries(columns).map(([name, column]) => `'${name}': '${duckType(column)}'`)
  const source = `read_json([${files.map((file) => `'${file}'`).join(', ')}],
    format = 'newline_delimited', auto_detect = false, columns = {${types.join(', ')}})`
  const instance = await DuckDBInstance.create(':memory:', { memory_limit: '1GB', threads: '1' })
  const connection = await instance.connect()
  const seconds: number[] = []
  for (let run = 0; run < 3; run++) {
    const start = performance.now()
    await connection.run(`copy (select * from ${source}) to '${folder}/raw.parquet'
      (format parquet, compression zstd, compression_level 3, row_group_size 4096)`)
    seconds.push((performance.now() - start) / 1000)
  }
  connection.closeSync()
  instance.closeSync()
  return median(seconds)
}

function* batchesOf<T>(items: Iterable<T>, size: number) {
  let batch: T[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Its messages where it is recorded with its last call. */
interface GeneratedLine {
  readonly messages?: readonly object[]
  readonly tools?: unknown
}
interface Started {
  readonly version_id: string
  readonly job_id: string
}
