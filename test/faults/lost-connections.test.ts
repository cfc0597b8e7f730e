import t from 'tap'
import { setTimeout } from 'node:timers/promises'
import { openDatabase } from '../../sql/core/db.ts'
import { openProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'
import { checkInvariants } from './invariants.ts'
import { effectJob, frailJob, ioJob, stepsJob } from './jobs.ts'
import { LONG, openStage } from './stage.ts'
import { checkPace } from './pace.ts'

t.jobs = 3

t.test(
  'F7: the connection that hears notifications dies silently',
  { buffered: true },
  async (t) => {
    const stage = await openStage(t)
    const proxy = await openProxy(t, stage.url)
    await stage.startWorker([ioJob], { through: proxy.url })
    /** Seconds until a job that is submitted now is begun. */
    async function measurePickUp() {
      const id = await stage.submit(ioJob, 0)
      const job = await until(async () => {
        const [row] = await stage.sql<{ seconds: number | null }[]>`
        select extract(epoch from started_at - created_at)::float8 as seconds from jobs
        where id = ${id}`
        return row?.seconds !== null && row
      })
      return job.seconds as number
    }
    checkPace(t, await measurePickUp(), 0.5, 'a job is begun')

    const diedAt = performance.now()
    t.equal(proxy.swallow('listener'), 1)
    await setTimeout(100)
    const polled = await measurePickUp()
    checkPace(t, polled, 2.2, 'then by polling')
    let inARow = 0
    await until(async () => {
      inARow = (await measurePickUp()) < 0.3 ? inARow + 1 : 0
      return inARow === 6
    })
    const seconds = (performance.now() - diedAt) / 1000
    checkPace(t, seconds, 20, 'and at once again')
    t.same(stage.fallen(), [])
  },
)

t.test('F8: every connection is terminated each second', { buffered: true }, async (t) => {
  const stage = await openStage(t)
  const queues = [effectJob, stepsJob, frailJob]
  await stage.startWorker(queues, { supervise: true })
  await stage.startWorker(queues)
  const reaper = openDatabase(stage.url, { max: 1, applicationName: 'reaper' })
  t.teardown(() => reaper.end())
  const load = stage.load(25, (n) => [stepsJob, frailJob][n % 5] ?? effectJob)
  let terminated = 0
  for (let second = 0; second < (LONG ? 20 : 6) || terminated <= 20; second++) {
    await setTimeout(1000)
    const rows = await reaper`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name <> 'reaper'`
    terminated += rows.length
  }
  const { accepted, refused } = await load.stop()
  await stage.allEnded()
  t.ok(terminated > 20, `${terminated} connections terminated, ${refused} submissions refused`)
  t.ok(accepted.length > 20, `${accepted.length} accepted`)
  const failed = await stage.sql`select from jobs where state <> 'succeeded'`
  t.equal(failed.length, 0, 'jobs without an attempt to lose have succeeded, too')
  await checkInvariants(t, stage.sql, accepted)
  t.same(stage.fallen(), [], 'no process ended of it')
})

t.test('F24: the database is away for longer than a heartbeat', { buffered: true }, async (t) => {
  const stage = await openStage(t)
  const proxy = await openProxy(t, stage.url)
  const through = proxy.url
  await stage.startWorker([frailJob], { through, supervise: true })
  await stage.startWorker([frailJob], { through })
  const accepted: string[] = []
  for (let outage = 0; outage < (LONG ? 3 : 1); outage++) {
    await until(async () => {
      for (let n = 0; n < 12; n++) accepted.push(await stage.submit(frailJob, 500))
      const running = await stage.sql`select from jobs where state = 'running'`
      return running.length > 4
    })
    proxy.setDown(true)
    await setTimeout(12_000)
    proxy.setDown(false)
    for (let n = 0; n < 12; n++) accepted.push(await stage.submit(frailJob, 500))
  }
  await stage.allEnded()
  const outcomes = await stage.sql`
    select distinct outcome from job_attempts
    where outcome not in ('succeeded', 'released') or outcome is null`
  t.same(outcomes, [], 'no attempt failed, and no worker was taken for lost')
  const failed = await stage.sql`select from jobs where state <> 'succeeded'`
  t.equal(failed.length, 0, 'jobs without an attempt to lose have succeeded')
  await checkInvariants(t, stage.sql, accepted)
  t.same(stage.fallen(), [])
})
