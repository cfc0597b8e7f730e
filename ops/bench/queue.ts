// How fast the queue is, against pg-boss and graphile-worker alone on the same database, and how fair:
// [DATABASE_URL=...] node ops/bench/queue.ts [--scale 1] [--smoke]
import { makeWorkerUtils } from 'graphile-worker'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { PgBoss } from 'pg-boss'
import type { Job } from '../../jobs/job.ts'
import { openDatabase } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { submitJob } from '../../sql/transactions/submit-job.ts'
import { handler } from '../../workers/runtime/handler.ts'
import type { AnyHandler } from '../../workers/runtime/handler.ts'
import { startWorkers } from '../../workers/runtime/start-workers.ts'
import { openBoss, openProcessQueue, reconcileQueues } from '../boss.ts'
import { readConfig } from '../config.ts'
import { openWorkerContext } from '../worker-context.ts'
import { quantile, report, round, whole } from './figures.ts'
import { readOptions } from './options.ts'
import { makeOrganization, withBenchDatabase } from './prepare.ts'
import { benchJob } from './queue-job.ts'

const CLIENTS = 8
const SLOTS = 8

const options = readOptions({ scale: [1, 0.02], seconds: [4, 0.3], settle: [1, 0.1] })
const scaled = (count: number) => Math.ceil(count * options.scale)
const config = readConfig({ LOG_LEVEL: 'silent' })

await withBenchDatabase('queue', async ({ url }) => {
  const bench = await openBench(url)
  try {
    await measureEnqueue(bench)
    await measureThroughput(bench)
    await measurePickUp(bench)
    await measureDrain(bench)
    await measureFairness(bench)
    await measureScale(bench)
  } finally {
    await bench.close()
  }
})

/** Row and job in one statement, against the job alone of two libraries. */
async function measureEnqueue(bench: Bench) {
  const declared = await bench.declare()
  const owner = await bench.makeOrganization()
  const ours = await perSecond(() => bench.submit(declared, owner))
  const pgBoss = await perSecond(() => bench.bare.send('bare', { ms: 0 }))
  const utils = await makeWorkerUtils({ connectionString: bench.url, maxPoolSize: CLIENTS })
  await utils.migrate()
  const graphile = await perSecond(() => utils.addJob('bare', { ms: 0 }))
  await utils.release()
  report({
    what: `the queue: row and job in one statement, ${CLIENTS} clients, to pg-boss`,
    ratio: round(ours / pgBoss),
    figures: `${whole(ours)} against ${whole(pgBoss)} a second, graphile-worker ${whole(graphile)}`,
  })
}

/** Jobs that do nothing, worked off by one process, against pg-boss waking itself. */
async function measureThroughput(bench: Bench) {
  const count = scaled(5000)
  const declared = await bench.declare()
  await bench.enqueue(declared, await bench.makeOrganization(), count, 0)
  const ours = await bench.drain(declared, count)

  await bench.bare.deleteAllJobs('bare')
  const jobs = Array.from({ length: count }, () => ({ data: { ms: 0 } }))
  for (let i = 0; i < count; i += 500) await bench.bare.insert('bare', jobs.slice(i, i + 500))
  const startedAt = performance.now()
  let done = 0
  await new Promise<void>((resolve, reject) => {
    const options = { localConcurrency: SLOTS, pollingIntervalSeconds: 0.5 }
    const working = bench.bare.work('bare', options, async () => {
      bench.bare.notifyWorker(await working)
      if (++done === count) resolve()
    })
    working.catch(reject)
  })
  const pgBoss = count / ((performance.now() - startedAt) / 1000)
  await bench.bare.offWork('bare')

  const owner = await bench.makeOrganization()
  const withRows = await bench.declare()
  for (let left = scaled(2000); left > 0; left -= 50) {
    await Promise.all(Array.from({ length: 50 }, () => bench.submit(withRows, owner)))
  }
  const visible = await bench.drain(withRows, scaled(2000))
  report({
    what: 'the queue: working off jobs, to pg-boss',
    ratio: round(ours.perSecond / pgBoss),
    figures: `${whole(ours.perSecond)} against ${whole(pgBoss)} a second; ${whole(visible.perSecond)} with job resources`,
  })
}

/** From the call that enqueues until the handler begins, with nothing else to do. */
async function measurePickUp(bench: Bench) {
  const declared = await bench.declare()
  const owner = await bench.makeOrganization()
  const times: number[] = []
  let begun = () => {}
  const stop = await bench.work(handler(declared, async () => begun()))
  for (let i = 0; i < scaled(200); i++) {
    const startedAt = performance.now()
    const beginning = new Promise<void>((resolve) => {
      begun = resolve
    })
    await bench.enqueue(declared, owner, 1, 0)
    await beginning
    times.push(performance.now() - startedAt)
    await setTimeout(40)
  }
  await stop()
  report({
    what: 'the queue: pick-up when idle, p95 below 50 ms',
    ratio: null,
    figures: `p50 ${round(quantile(times, 0.5))} ms, p95 ${round(quantile(times, 0.95))} ms`,
  })
}

async function measureDrain(bench: Bench) {
  const count = scaled(10_000)
  const declared = await bench.declare()
  await bench.enqueue(declared, await bench.makeOrganization(), count, 0)
  const { perSecond, longestGapMs } = await bench.drain(declared, count)
  report({
    what: 'the queue: draining, longest gap below 250 ms',
    ratio: null,
    figures: `${whole(count)} jobs, ${whole(perSecond)} a second, longest gap ${whole(longestGapMs)} ms`,
  })
}

async function measureFairness(bench: Bench) {
  const crowded = await bench.declare()
  const whale = await bench.makeOrganization()
  const minnow = await bench.makeOrganization()
  await bench.enqueue(crowded, whale, scaled(3000), 0)
  await bench.enqueue(crowded, minnow, 10, 0)
  const served = await bench.serve(crowded)
  const place = served.lastIndexOf(minnow) + 1
  report({
    what: 'the queue: 10 jobs behind those of another tenant, done by place 50',
    ratio: null,
    figures: `behind ${whole(scaled(3000))}: place ${place}`,
  })

  const shared = await bench.declare()
  const equals = await Promise.all([1, 2, 3, 4, 5].map(() => bench.makeOrganization()))
  for (const owner of equals) await bench.enqueue(shared, owner, scaled(400), 0)
  const half = (await bench.serve(shared)).slice(0, scaled(1000))
  const shares = equals.map((owner) => half.filter((served) => served === owner).length)
  const sum = shares.reduce((a, b) => a + b)
  const jain = sum ** 2 / (shares.length * shares.reduce((a, b) => a + b * b, 0))
  report({
    what: 'the queue: Jain index of five equal tenants, above 0.95',
    ratio: round(jain),
    figures: shares.join(', '),
  })
}

/** Jobs that wait 50 ms for something outside, with one process and with four. */
async function measureScale(bench: Bench) {
  const declared = await bench.declare()
  await bench.enqueue(declared, await bench.makeOrganization(), scaled(6000), 50)
  const workers = [await startWorker(bench.url, declared)]
  const one = await bench.rate(declared)
  for (let i = 1; i < 4; i++) workers.push(await startWorker(bench.url, declared))
  const four = await bench.rate(declared)
  for (const worker of workers) worker.disconnect()
  await Promise.all(workers.map((worker) => once(worker, 'exit')))
  report({
    what: 'the queue: four processes to one, I/O-bound, above 2.5',
    ratio: round(four / one),
    figures: `${whole(one)} to ${whole(four)} jobs a second`,
  })
}

async function openBench(url: string) {
  const sql = openDatabase(url, { max: CLIENTS })
  const boss = await openBoss(sql, { log: { warn: () => undefined } })
  const queue = openProcessQueue(boss, sql)
  const bare = new PgBoss({
    connectionString: url,
    schema: 'bare',
    max: CLIENTS,
    supervise: false,
    schedule: false,
  })
  bare.on('error', () => undefined)
  await bare.start()
  await bare.createQueue('bare')
  let serial = 0

  async function enqueue(declared: Declared, orgId: string, count: number, ms: number) {
    for (let made = 0; made < count; made += 500) {
      const batch = Array.from({ length: Math.min(500, count - made) }, () => ({ ms }))
      await queue.transaction(sql, async (tx: Transaction) => {
        await Promise.all(batch.map((payload) => queue.enqueue(tx, declared, payload, { orgId })))
      })
    }
  }

  async function work(each: AnyHandler) {
    const opened = await openWorkerContext(config, url, { slots: SLOTS, supervise: false })
    const handlers = [{ handler: each, concurrency: SLOTS }]
    const pools = await startWorkers(opened.context, opened.boss, handlers)
    return async () => {
      await pools.stop(5000)
      await opened.close()
    }
  }

  /** Takes a queue's jobs one after another. Returns their organizations in that order. */
  async function serve({ name }: Declared) {
    const served: string[] = []
    for (;;) {
      const jobs = await boss.fetch<{ org_id: string }>(name, { batchSize: SLOTS })
      if (jobs.length === 0) return served
      await boss.complete(name, jobs)
      served.push(...jobs.map(({ data }) => data.org_id))
    }
  }

  return {
    url,
    bare,
    enqueue,
    work,
    serve,
    async declare() {
      const declared = benchJob(`bench.run-${++serial}`)
      await reconcileQueues(boss, [declared])
      return declared
    },
    async makeOrganization() {
      const { owner } = await makeOrganization(sql)
      return owner.org_id
    },
    /** As the API does: the row that clients poll and its job, in one statement. */
    async submit(declared: Declared, orgId: string) {
      const submission = { orgId, projectId: null, createdBy: null }
      await submitJob(sql, queue, declared, { ms: 0 }, submission)
    },
    /** Works off `count` jobs in one process. */
    async drain(declared: Declared, count: number) {
      const ends: number[] = []
      let finish = () => {}
      const finished = new Promise<void>((resolve) => {
        finish = resolve
      })
      const stop = await work(
        handler(declared, async () => {
          if (ends.push(performance.now()) === count) finish()
        }),
      )
      await finished
      await stop()
      const [first = 0, last = 0] = [ends[0], ends.at(-1)]
      const gaps = ends.slice(1).map((end, i) => end - (ends[i] as number))
      const perSecond = count / ((last - first) / 1000)
      return { perSecond, longestGapMs: Math.max(...gaps) }
    },
    /** Jobs of a queue that are done in a second, while others work. */
    async rate({ name }: Declared) {
      const count = async () => {
        const [row] = await sql<{ n: number; at: Date }[]>`
          select count(*)::int as n, clock_timestamp() as at from pgboss.job
          where name = ${name} and state = 'completed'`
        return { n: row?.n ?? 0, at: row?.at.getTime() ?? 0 }
      }
      await setTimeout(options.settle * 1000)
      const before = await count()
      await setTimeout(options.seconds * 1000)
      const after = await count()
      return ((after.n - before.n) / (after.at - before.at)) * 1000
    },
    async close() {
      await bare.stop({ graceful: false })
      await boss.stop({ graceful: false })
      await sql.end()
    },
  }
}

async function startWorker(url: string, { name }: Declared) {
  const program = new URL('./queue-worker.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [program, url, name, '4'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  return child
}

/** How often a second `CLIENTS` at once can do something. */
async function perSecond(once: () => Promise<unknown>) {
  const end = performance.now() + options.seconds * 1000
  const startedAt = performance.now()
  let count = 0
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (performance.now() < end) {
        await once()
        count++
      }
    }),
  )
  return count / ((performance.now() - startedAt) / 1000)
}

type Declared = Job<{ ms: number }>
type Bench = Awaited<ReturnType<typeof openBench>>
