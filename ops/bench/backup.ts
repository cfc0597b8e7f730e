// How fast an organization is exported, against a raw COPY of the same lines out of an unlogged text table
// that does not compress, and how much memory the API takes for a quarter of them and for all:
// [DATABASE_URL=...] node ops/bench/backup.ts [--megabytes 400] [--seed 1] [--calls growing]
// [--short [--rows 1000000]] [--smoke]
// With --short the traces are so many questions with their answers, of under 1 kB each. Memory is read from /proc.
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import postgres from 'postgres'
import { peakMiB, print, report, round, whole } from './figures.ts'
import { generateTraceLines, writeLines } from './generate.ts'
import { importFile } from './imported-files.ts'
import { readCalls } from './model-calls.ts'
import { readOptions } from './options.ts'
import { makeOrganization, openBenchFolder, withBenchDatabase } from './prepare.ts'
import { openProcesses } from './service-processes.ts'
import { generateShortLines } from './short-traces.ts'

const options = readOptions(
  { megabytes: [400, 1], seed: [1, 1], rows: [1_000_000, 500] },
  { calls: { type: 'string', default: 'growing' }, short: { type: 'boolean', default: false } },
)
const calls = readCalls(options.calls)
const kind = options.short ? `${whole(options.rows)} short traces` : `${calls} calls`
await using opened = new AsyncDisposableStack()
const { path: folder } = opened.use(await openBenchFolder('backup'))

await withBenchDatabase('backup', async ({ url, sql }) => {
  await using running = new AsyncDisposableStack()
  const processes = openProcesses(running, url, folder)
  const importer = await processes.startApi()
  await processes.startWorkers('import')
  /** @param part of all traces */
  async function fill(part: number) {
    const { key } = await makeOrganization(sql)
    const file = join(folder, 'traces.jsonl')
    await writeLines(file, makeLines(part))
    await importFile(sql, importer, key, file)
    return key
  }
  const quarter = await fill(1 / 4)
  const key = await fill(1)
  // One that has done nothing else.
  const api = await processes.startApi()
  const address = `${api.address}/api/v1/export/backup`
  await download(address, quarter)
  const quarterMiB = await peakMiB(api.child.pid)
  await download(address, key)
  const wholeMiB = await peakMiB(api.child.pid)
  const seconds = await download(address, key)
  const file = join(folder, 'backup.jsonl')
  await download(address, key, (body) => pipeline(body, createWriteStream(file)))
  const megabytes = (await stat(file)).size / 1e6
  const copied = await copyOut(url, file)
  const lag = Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(await api.metrics())?.[1])
  const figures = {
    file_mb: Math.round(megabytes),
    copy_mb_s: round(megabytes / copied),
    export_mb_s: round(megabytes / seconds),
    ratio: round(copied / seconds),
    peak_mib_of_a_quarter: quarterMiB,
    peak_mib: wholeMiB,
    lag_p99_ms: round(1000 * lag),
  }
  print([figures])
  report(
    {
      what: `exporting a backup, ${kind}, to COPY of its lines`,
      ratio: figures.ratio,
      figures: `${whole(megabytes)} MB, ${whole(figures.export_mb_s)} against ${whole(figures.copy_mb_s)} MB/s; event loop delay p99 ${whole(figures.lag_p99_ms)} ms`,
    },
    {
      what: `memory of exporting four times as much, ${kind}`,
      ratio: round(wholeMiB / quarterMiB),
      figures: `${wholeMiB} against ${quarterMiB} MiB`,
    },
  )
})

function makeLines(part: number) {
  const { rows, seed, megabytes, short } = options
  if (short) return generateShortLines(rows * part, seed)
  return generateTraceLines({ bytes: megabytes * 1e6 * part, seed, calls })
}

/** Seconds of an export that is read to its end. */
async function download(address: string, key: string, keep = drain) {
  const start = performance.now()
  const headers = { authorization: `Bearer ${key}`, 'accept-encoding': 'identity' }
  const { status, body } = await fetch(address, { headers })
  if (status !== 200 || !body) throw new Error(`The export answered ${status}`)
  await keep(Readable.fromWeb(body))
  return (performance.now() - start) / 1000
}

async function drain(body: AsyncIterable<unknown>) {
  for await (const chunk of body) void chunk
}

/** Seconds of `copy ... to stdout` of the file's lines. */
async function copyOut(url: string, file: string) {
  const sql = postgres(url, { max: 1, onnotice: () => undefined })
  await sql`create unlogged table raw_lines (line text storage external)`
  const into =
    await sql`copy raw_lines from stdin (format csv, delimiter e'\x02', quote e'\x01')`.writable()
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), into)
  const start = performance.now()
  const out =
    await sql`copy raw_lines to stdout (format csv, delimiter e'\x02', quote e'\x01')`.readable()
  await once(out.resume(), 'end')
  const seconds = (performance.now() - start) / 1000
  // The client may leave its socket paused behind a COPY, and would then wait for an end forever.
  await sql.end({ timeout: 0 })
  return seconds
}
