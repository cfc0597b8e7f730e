// How fast a file is imported, against a raw COPY of the same file into an unlogged text table, and how
// much memory that takes: [DATABASE_URL=...] node ops/bench/import.ts [--megabytes 1000] [--seed 1]
// [--calls growing] [--smoke]
// With --spans the same traces are spans of Langfuse, sorted by name, and they are compared with our own
// lines and with nothing but JSON.parse of their lines besides.
// With --kills 10 instead: the import worker is killed at random moments so many times, and what is in
// the database afterwards is compared with an import that nobody disturbed. A killed worker is missed
// after 35 s or so; allow a minute a kill.
// Memory is read from /proc.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import postgres from 'postgres'
import type { Sql } from '../../sql/core/db.ts'
import { peakMiB, print, report, round, whole } from './figures.ts'
import { generateSpanLines, generateTraceLines, writeLines } from './generate.ts'
import { measureKills } from './import-kills.ts'
import { importFile } from './imported-files.ts'
import { readCalls } from './model-calls.ts'
import { readOptions } from './options.ts'
import { makeOrganization, openBenchFolder, withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'
import { openProcesses } from './service-processes.ts'
import type { Processes, ServiceProcess } from './service-processes.ts'

const options = readOptions(
  { megabytes: [1000, 1], seed: [1, 1], rounds: [1, 1], kills: [0, 0] },
  { spans: { type: 'boolean', default: false }, calls: { type: 'string', default: 'growing' } },
)
const calls = readCalls(options.calls)
await using opened = new AsyncDisposableStack()
const { path: folder } = opened.use(await openBenchFolder('import'))
const ownFile = join(folder, 'traces.jsonl')
const file = options.spans ? join(folder, 'spans.jsonl') : ownFile
const lines = { bytes: options.megabytes * 1e6, seed: options.seed, calls }
await writeLines(ownFile, generateTraceLines(lines))
if (options.spans) await writeLines(file, generateSpanLines(lines))
await withBenchDatabase('import', async (bench) => {
  await using running = new AsyncDisposableStack()
  const processes = openProcesses(running, bench.url, folder)
  if (options.kills > 0) await measureKills(bench, processes, file, options.kills)
  else await measureSpeed(bench, processes)
})

async function measureSpeed({ url, sql }: Bench, processes: Processes) {
  const megabytes = (await stat(file)).size / 1e6
  const api = await processes.startApi()
  const worker = await processes.startWorkers('import')
  for (let left = options.rounds; left > 0; left--) {
    const raw = await copyRaw(url, 'extended')
    const plain = await copyRaw(url, 'external')
    const own = options.spans ? await measureOwn(sql, api) : undefined
    const { key } = await makeOrganization(sql)
    const first = await importFile(sql, api, key, file)
    const lag = Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(await api.metrics())?.[1])
    const again = await importFile(sql, api, key, file)
    const [workerMiB, apiMiB] = [await peakMiB(worker.child.pid), await peakMiB(api.child.pid)]
    print([
      {
        file_mb: Math.round(megabytes),
        traces: first.imported,
        raw_copy_mb_s: round(megabytes / raw),
        uncompressed_copy_mb_s: round(megabytes / plain),
        upload_mb_s: round(megabytes / first.uploadSeconds),
        import_mb_s: round(megabytes / first.seconds),
        ratio: round(raw / first.seconds),
        ratio_to_uncompressed: round(plain / first.seconds),
        ...(own && {
          own_file_mb: Math.round(own.megabytes),
          own_mb_s: round(own.megabytes / own.seconds),
          own_traces_s: round(own.imported / own.seconds),
          traces_s: round(first.imported / first.seconds),
          ratio_to_own_lines: round(own.seconds / first.seconds),
          ratio_to_own_mb_s: round(megabytes / first.seconds / (own.megabytes / own.seconds)),
          json_parse_mb_s: round(megabytes / (await parseLines())),
          errors: first.errors,
          scores: first.scores,
        }),
        again_skipped: again.skipped,
        again_mb_s: round(megabytes / again.seconds),
        again_times_faster: round(first.seconds / again.seconds),
        worker_peak_mib: workerMiB,
        api_peak_mib: apiMiB,
        api_lag_p99_ms: round(1000 * lag),
      },
    ])
    const form = `${options.spans ? 'spans' : 'lines'}, ${calls} calls`
    const speed = (seconds: number) => whole(megabytes / seconds)
    report(
      {
        what: `importing ${form}, to COPY that does not compress`,
        ratio: round(plain / first.seconds),
        figures: `${whole(megabytes)} MB, ${speed(first.seconds)} against ${speed(plain)} MB/s (compressing ${speed(raw)}); workers at most ${workerMiB} MiB, API ${apiMiB} MiB, its event loop delay p99 ${whole(1000 * lag)} ms`,
      },
      {
        what: `importing ${form} again, to the first time`,
        ratio: round(first.seconds / again.seconds),
        figures: `${speed(again.seconds)} MB/s`,
      },
      ...(own
        ? [
            {
              what: `importing ${form}, to our own lines of the same traces`,
              ratio: round(own.seconds / first.seconds),
              figures: `${whole(first.imported / first.seconds)} against ${whole(own.imported / own.seconds)} traces a second`,
            },
          ]
        : []),
    )
  }
}

/** The same traces as our own lines. */
async function measureOwn(sql: Sql, api: ServiceProcess) {
  const { key } = await makeOrganization(sql)
  const megabytes = (await stat(ownFile)).size / 1e6
  return { megabytes, ...(await importFile(sql, api, key, ownFile)) }
}

/** Seconds of JSON.parse of the file's lines, one after another in this thread. */
async function parseLines() {
  let seconds = 0
  for await (const line of createInterface(createReadStream(file))) {
    const start = performance.now()
    JSON.parse(line)
    seconds += (performance.now() - start) / 1000
  }
  return seconds
}

/** Seconds of `copy ... from stdin` of the file's lines as they are; `extended` compresses long ones. */
async function copyRaw(url: string, storage: 'extended' | 'external') {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  await sql.unsafe(`create unlogged table raw_lines (line text storage ${storage})`)
  const start = performance.now()
  const into = await sql`
    copy raw_lines from stdin (format csv, delimiter e'\x02', quote e'\x01')`.writable()
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), into)
  const seconds = (performance.now() - start) / 1000
  await sql`drop table raw_lines`
  await sql.end()
  return seconds
}
