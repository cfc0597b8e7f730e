// How fast a dataset version is built, against DuckDB alone turning the same JSONL into Parquet:
// [DATABASE_URL=...] node ops/bench/build.ts [--megabytes 300] [--seed 1]
// Memory is read from /proc.
import { DuckDBInstance } from '@duckdb/node-api'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createApi } from '../../api/server.ts'
import { completeRecipe } from '../../jobs/rules/dataset-recipe.ts'
import { toTraceRow } from '../../jobs/rules/trace-row.ts'
import { readTrace } from '../../jobs/rules/trace.ts'
import type { Sql } from '../../sql/db.ts'
import { insertTraces } from '../../sql/traces.ts'
import { columnsOf, duckType } from '../../workers/datasets/parquet-columns.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../context.ts'
import { print, round } from './figures.ts'
import { generateTraceLines } from './generate.ts'
import { withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'
import { freePort, peakMiB } from './processes.ts'

const { values } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
  },
})
const folder = await mkdtemp(join(tmpdir(), 'bench-build-'))
try {
  await withBenchDatabase('build', measure)
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function measure({ url, sql, key, owner }: Bench) {
  await storeTraces(
    sql,
    owner,
    generateTraceLines(Number(values.megabytes) * 1e6, Number(values.seed)),
  )
  await sql`vacuum analyze`
  const built = await build(url, key)
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
}

/** All judged as worth keeping. */
async function storeTraces(sql: Sql, owner: Bench['owner'], lines: Iterable<string>) {
  for (const batch of batchesOf(lines, 200)) {
    await insertTraces(
      sql,
      batch.map((line) => ({ ...toTraceRow(asTrace(line)), ...owner })),
    )
  }
  await sql`
    insert into verdicts (org_id, project_id, trace_id, verdict, needs_review, quality_avg,
      eval_verdict, reasons, policy_agent_name, policy_version)
    select org_id, project_id, trace_id, 'keep', false, 1, 'pass', '[]', '', 0 from traces`
}

function asTrace(line: string) {
  const { messages, tools, ...members } = JSON.parse(line) as Record<string, unknown>
  const list = messages as object[]
  const call = { rendered_input: list.slice(0, -1), output: list.at(-1), tools }
  const read = readTrace({ ...members, llm_calls: [call] }, { traceId: () => '', now: new Date() })
  if ('faults' in read) throw new Error(read.faults[0]?.message)
  return read.trace
}

/** Through the API, by a worker process of its own. */
async function build(url: string, key: string) {
  const settings = { DATABASE_URL: url, DATA_DIR: folder, LOG_LEVEL: 'warn' }
  const config = readConfig(settings)
  const opened = await openApiContext(config, url)
  const api = await createApi(opened.context)
  const call = async (method: string, path: string, payload?: object) => {
    const headers = { authorization: `Bearer ${key}`, prefer: 'respond-async' }
    const options = { method, url: `/api/v1${path}`, headers, ...(payload && { payload }) }
    return JSON.parse((await api.inject(options)).payload) as Answer
  }
  const dataset = await call('POST', '/datasets', { name: 'bench', dataset_type: 'sft' })
  const path = (await call('POST', `/datasets/${dataset.id}/build`, {})).version_id
  const worker = spawn(process.execPath, ['ops/start-workers.ts', '--pool', 'datasets'], {
    env: { ...process.env, ...settings, HEALTH_PORT: String(await freePort()) },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  try {
    for (;;) {
      if (worker.exitCode !== null) throw new Error(`The worker ended with ${worker.exitCode}`)
      const version = await call('GET', `/datasets/${dataset.id}/versions/${path}`)
      if (version.status === 'failed') throw new Error(JSON.stringify(version.error))
      const job = await call('GET', `/jobs/${version.job_id}`)
      if (job.finished_at) {
        const rssMiB = await peakMiB(worker.pid)
        return { ...(await describe(opened.context.sql, version)), rssMiB }
      }
      await setTimeout(200)
    }
  } finally {
    if (worker.kill('SIGTERM')) await once(worker, 'exit')
    await api.stop()
    await opened.close()
  }
}

async function describe(sql: Sql, version: Answer) {
  const [job] = await sql<{ seconds: number }[]>`
    select extract(epoch from finished_at - started_at)::float8 as seconds from jobs
    where id = ${version.job_id}`
  const files = await sql<{ storage_key: string; size_bytes: number }[]>`
    select storage_key, size_bytes from dataset_files
    where version_id = ${version.id} and format = 'jsonl' order by shard`
  return {
    rows: version.row_count,
    seconds: job?.seconds ?? 0,
    bytes: files.reduce((sum, { size_bytes }) => sum + size_bytes, 0),
    files: files.map(({ storage_key }) => storage_key),
  }
}

/** The best of three runs on one thread, as the build has one a conversion. */
async function rawSeconds(files: readonly string[]) {
  const columns = columnsOf(completeRecipe('sft', null, {}))
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
  return Math.min(...seconds)
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

interface Answer {
  readonly id: string
  readonly version_id: string
  readonly job_id: string
  readonly status: string
  readonly row_count: number
  readonly error: unknown
  readonly finished_at: string | null
}
