import t from 'tap'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { effectJob, ioJob } from '../jobs.ts'
import { openStage } from '../stage.ts'
import type { Stage, Worker } from '../stage.ts'

/** Below about 5 minutes, a half has hardly a pass of autovacuum, and says nothing. */
const MINUTES = Number(process.env['SOAK_MINUTES'] ?? 30)
const SAMPLES = 60
const TO_MEASURE = 1500

t.setTimeout((MINUTES + 10) * 60_000)

t.test('F23: half of what a pool can do, for long', async (t) => {
  const stage = await openStage(t)
  const { sql } = stage
  const accepted: string[] = []
  const submit = async (count: number) => {
    const jobs = Array.from({ length: count }, (_, n) => (n % 4 === 0 ? ioJob : effectJob))
    accepted.push(...(await Promise.all(jobs.map((job, n) => stage.submit(job, n % 20)))))
  }
  for (let made = 0; made < TO_MEASURE; made += 50) await submit(50)
  const workers = [await stage.startWorker([], { supervise: true })]
  const startedAt = performance.now()
  workers.push(await stage.startWorker([effectJob, ioJob], { slots: 4 }))
  await stage.allEnded()
  const perSecond = (TO_MEASURE / (performance.now() - startedAt)) * 1000
  t.comment(`${perSecond.toFixed(0)} jobs a second; half of that for ${MINUTES} min`)

  const samples: Sample[] = []
  const end = performance.now() + MINUTES * 60_000
  let due = performance.now()
  let sampleAt = due
  while (performance.now() < end) {
    await submit(Math.ceil((perSecond / 2) * (TICK_MS / 1000)))
    if (performance.now() > sampleAt) {
      sampleAt += (MINUTES * 60_000) / SAMPLES
      samples.push(await takeSample(stage, workers))
      await retain(stage)
    }
    due += TICK_MS
    await setTimeout(Math.max(0, due - performance.now()))
  }
  await stage.allEnded()

  // The first fifth warms up: code is compiled, heaps and tables grow to the size they need.
  const steady = samples.slice(SAMPLES / 5)
  const early = findMedians(steady.slice(0, steady.length / 2))
  const late = findMedians(steady.slice(steady.length / 2))
  for (const [what, atMost] of Object.entries(MOST)) {
    const [before, after] = [early, late].map((sample) => sample[what as keyof Sample])
    if (before === undefined || after === undefined) throw new Error('no samples')
    t.ok(after <= atMost(before), `${what}: ${before.toFixed(2)}, then ${after.toFixed(2)}`)
  }
  const [row] = await sql<{ endings: number; ended: number; succeeded: number }[]>`
    select count(*)::int as endings, count(distinct job_id)::int as ended,
      count(*) filter (where state = 'succeeded')::int as succeeded from endings`
  const n = accepted.length
  t.same(row, { endings: n, ended: n, succeeded: n }, `I1: each of ${n} jobs has succeeded once`)
  const doubled = await sql`select from effects group by job_id, n, step having count(*) > 1`
  t.equal(doubled.length, 0, 'I2: no effect was made twice')
  t.same(stage.fallen(), [])
})

async function takeSample({ sql }: Stage, workers: readonly Worker[]): Promise<Sample> {
  const memories = await Promise.all(
    workers.map(async ({ child }) => {
      const answer = once(child, 'message')
      child.send('memory')
      return ((await answer)[0] as { rssBytes: number }).rssBytes
    }),
  )
  const [row] = await sql<{ deadTuples: number; tableMebibytes: number; waitSeconds: number }[]>`
    select sum(n_dead_tup)::int as "deadTuples",
      sum(pg_total_relation_size(relid))::float8 / 1048576 as "tableMebibytes",
      (select coalesce(percentile_cont(0.95) within group (order by
          extract(epoch from started_at - created_at)), 0)::float8 as "waitSeconds"
        from jobs where started_at > now() - interval '10 seconds')
    from pg_stat_user_tables
    where relname in ('jobs', 'job_attempts') or schemaname = 'pgboss'`
  if (!row) throw new Error('no answer')
  return { memoryMebibytes: Math.max(...memories) / 1048576, ...row }
}

/** Deletes what has ended, as retention does, but after a minute, so that tables can come to rest. */
async function retain({ sql }: Stage) {
  await sql`delete from jobs where finished_at < now() - interval '1 minute'`
  await sql`
    delete from pgboss.job
    where state = 'completed' and completed_on < now() - interval '1 minute'`
}

/** Of each measure: one moment in which the machine did something else says nothing. */
function findMedians(samples: readonly Sample[]): Sample {
  const median = (what: keyof Sample) =>
    samples.map((sample) => sample[what]).sort((a, b) => a - b)[samples.length >> 1] as number
  return {
    memoryMebibytes: median('memoryMebibytes'),
    deadTuples: median('deadTuples'),
    tableMebibytes: median('tableMebibytes'),
    waitSeconds: median('waitSeconds'),
  }
}

/** What the median of the second half may be, by that of the first. */
const MOST: Readonly<Record<keyof Sample, (before: number) => number>> = {
  memoryMebibytes: (before) => 1.1 * before,
  deadTuples: (before) => 1.5 * before,
  tableMebibytes: (before) => 1.3 * before,
  waitSeconds: (before) => 2 * before + 0.1,
}
const TICK_MS = 100

interface Sample {
  /** Of the process that has most. */
  readonly memoryMebibytes: number
  /** In the tables of jobs and of the queue, like the next. */
  readonly deadTuples: number
  readonly tableMebibytes: number
  /** The 95th percentile, of jobs begun lately. */
  readonly waitSeconds: number
}
