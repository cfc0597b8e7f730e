import t from 'tap'
import { setTimeout } from 'node:timers/promises'
import { checkInvariants, UNCLAIMED_SECONDS } from './invariants.ts'
import { effectJob, stepsJob } from './jobs.ts'
import { LONG, openStage } from './stage.ts'
import type { Worker } from './stage.ts'
import { checkPace } from './pace.ts'

// They mostly wait for heartbeats to be missed.
t.jobs = 2
const SECONDS = LONG ? 60 : 8
const BOTH = [effectJob, stepsJob]

t.test('F1: workers killed at random', { buffered: true }, async (t) => {
  const stage = await openStage(t)
  await stage.startWorker([], { supervise: true })
  const workers: Worker[] = []
  for (let i = 0; i < 3; i++) workers.push(await stage.startWorker(BOTH))
  const watching = stage.watch()
  const load = stage.load(25, (n) => (n % 4 === 0 ? stepsJob : effectJob))
  const until = performance.now() + SECONDS * 1000
  let kills = 0
  while (performance.now() < until || kills < 2) {
    await setTimeout(Math.random() * 500)
    const [victim] = workers.splice(Math.floor(Math.random() * workers.length), 1)
    if (!victim) continue
    await stage.busy(victim)
    await stage.kill(victim)
    kills++
    workers.push(await stage.startWorker(BOTH))
  }
  const { accepted, refused } = await load.stop()
  t.equal(refused, 0)
  await stage.allEnded()
  const takeover = await stage.slowestTakeover()
  t.ok(takeover.count > 0, `${takeover.count} attempts were lost with their workers`)
  checkPace(t, takeover.seconds, 16, 'taken over')
  const unclaimed = watching.stop()
  checkPace(t, unclaimed, UNCLAIMED_SECONDS, 'I3: running without a worker')
  await checkInvariants(t, stage.sql, accepted)
  t.same(stage.fallen(), [])
})

t.test('F2: all workers killed, others started', { buffered: true }, async (t) => {
  const stage = await openStage(t)
  await stage.startWorker([], { supervise: true })
  const accepted: string[] = []
  for (let n = 0; n < (LONG ? 2000 : 300); n++) {
    accepted.push(await stage.submit(n % 10 === 0 ? stepsJob : effectJob, n))
  }
  // Each for itself: the first would leave nothing for one that starts late.
  const killing = [1, 2].map(async () => {
    const worker = await stage.startWorker(BOTH)
    await stage.busy(worker)
    await stage.kill(worker)
  })
  await Promise.all(killing)
  const [before] = await stage.sql`select count(*)::int as n from jobs where finished_at is null`
  t.ok(before?.['n'] > 0, `${before?.['n']} jobs left`)
  const startedAt = new Date()
  await stage.startWorker(BOTH)
  await stage.allEnded()
  const [resumed] = await stage.sql<{ seconds: number }[]>`
    select extract(epoch from min(finished_at) - ${startedAt})::float8 as seconds from jobs
    where finished_at > ${startedAt}`
  checkPace(t, resumed?.seconds ?? Infinity, 16, 'the backlog goes on')
  const takeover = await stage.slowestTakeover()
  checkPace(t, takeover.seconds, 16, 'what ran is taken over')
  await checkInvariants(t, stage.sql, accepted)
})
