import { createHash, randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import type { ChildProcess } from 'node:child_process'
import t from 'tap'
import { peakMiB } from '../../ops/bench/figures.ts'
import { openPushing, REPO } from '../support/pushed-version.ts'
import { randomOf } from '../support/random.ts'
import { until } from '../support/until.ts'
import { startWorkerProcess } from '../support/worker-process.ts'
import { LONG } from './stage.ts'

const KILLS = LONG ? 10 : 1
const FILE_BYTES = LONG ? 256_000_000 : 3_000_000
/** A share of the files has parts, the others come whole. */
const PART_BYTES = FILE_BYTES / 4

t.test('a worker that is killed while it pushes a version', async (t) => {
  const pushing = await openPushing(t, { partBytes: PART_BYTES, shardBytes: 400 })
  const { hub, service, version, parquet, request, readJob, builder } = pushing
  const { sql, context } = service
  await builder.stop()
  const sizes = new Map<string, number>()
  for (const [i, { path }] of parquet.entries()) {
    const { sha256, size_bytes } = await enlarge(path, i % 3 === 0 ? PART_BYTES : FILE_BYTES)
    sizes.set(sha256, size_bytes)
  }
  const total = sum(sizes.values())

  let worker: ChildProcess | undefined
  const start = () => startWorkerProcess(service, 'datasets,maintenance', { HUB_URL: hub.url })
  t.teardown(() => worker?.kill('SIGKILL'))
  // Each kill is at a random place of its share of the bytes that come.
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31))
  t.comment(`FC_SEED=${seed}`)
  const random = randomOf(seed)
  const places = Array.from({ length: KILLS }, (_, i) => ((i + random()) * total) / KILLS)
  let killed = 0
  hub.breaks = () => {
    const place = places[killed]
    if (place === undefined || sum(hub.received.values()) < place || worker?.killed) return false
    killed++
    return worker?.kill('SIGKILL') ?? false
  }
  // The waits between attempts are over soon.
  const hurry = setInterval(() => {
    sql`
      update pgboss.job set start_after = now()
      where name = 'dataset.push' and state < 'active'`.catch(() => undefined)
  }, 500)
  t.teardown(() => clearInterval(hurry))
  const id = await request()
  for (let kills = 0; kills < KILLS; kills++) {
    worker = await start()
    await once(worker, 'exit')
    // A minute later.
    await sql`
      update pgboss.job set heartbeat_on = now() - interval '1 hour'
      where name = 'dataset.push' and state = 'active'`
  }
  worker = await start()
  const job = await until(async () => {
    const job = await readJob(id)
    return job.done && job
  }, 1_500_000)

  t.equal(job.state, 'succeeded', JSON.stringify(job.error))
  t.equal(killed, KILLS)
  const repo = hub.repos.all.get(REPO)
  t.equal(repo?.commits.get('main')?.length, 2, 'there is one commit besides the first')
  t.equal(repo?.files.get('main')?.size, parquet.length + 2)
  t.same(hub.faults, [], 'what the hub has is not sent again')
  for (const [sha256, size] of sizes) {
    t.equal(hub.stored.get(sha256), size)
    const received = hub.received.get(sha256) ?? 0
    t.ok(received <= size * (1 + KILLS), 'no byte is sent again more than once a kill')
  }
  const sent = sum(hub.received.values())
  t.comment(`${KILLS} kills: ${(sent / total).toFixed(2)} times the ${total} bytes were sent`)
  // Five files are under way at once.
  t.ok(sent <= total + KILLS * 5 * FILE_BYTES)
  const mebibytes = await peakMiB(worker.pid)
  t.comment(`the last worker had ${mebibytes} MiB`)
  t.ok(mebibytes < 512, 'no file is read into memory')

  /** Puts a file of random bytes in the place of a small one. */
  async function enlarge(path: string, size_bytes: number) {
    const storage_key = `enlarged/${crypto.randomUUID()}.parquet`
    const hash = createHash('sha256')
    async function* bytes() {
      for (let left = size_bytes; left > 0; left -= STEP) {
        const step = randomBytes(Math.min(left, STEP))
        hash.update(step)
        yield step
      }
    }
    await context.storage.write(storage_key, bytes())
    const sha256 = hash.digest('hex')
    await sql`
      update dataset_files set ${sql({ storage_key, sha256, size_bytes })}
      where version_id = ${version.id} and path = ${path}`
    return { sha256, size_bytes }
  }
})

function sum(numbers: Iterable<number>) {
  let total = 0
  for (const n of numbers) total += n
  return total
}

const STEP = 1_000_000
