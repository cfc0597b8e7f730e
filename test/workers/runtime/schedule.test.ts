import t from 'tap'
import { readFile } from 'node:fs/promises'
import { isQueueCurrent, openBoss, reconcileSchedules } from '../../../ops/boss.ts'
import { pools } from '../../../workers/pools.ts'
import { schedules } from '../../../workers/runtime/schedule.ts'
import { openQueues } from '../../support/queues.ts'
import { readSources } from '../../support/sources.ts'
import { until } from '../../support/until.ts'

t.test('schedules', async (t) => {
  const { service, sql, declare } = await openQueues(t)
  const { boss } = service
  const log = { warn: () => undefined }

  t.test('are in the database as declared, and only those', async (t) => {
    t.equal(await isQueueCurrent(sql), true)
    const declared = await declare()
    await boss.schedule(declared.name, '* * * * *', {})
    t.equal(await isQueueCurrent(sql), false)
    await reconcileSchedules(boss)
    t.equal(await isQueueCurrent(sql), true)
    const stored = await boss.getSchedules()
    t.same(new Set(stored.map(({ name }) => name)), new Set(schedules.map(({ job }) => job.name)))
    for (const { timezone, options } of stored) {
      t.match({ timezone, missed: options?.missed }, { timezone: 'UTC', missed: 'once' })
    }
  })

  t.test('name jobs that a pool works off', async (t) => {
    const handled = Object.values(pools).flatMap((pool) => pool.jobs)
    for (const { job } of schedules) t.ok(handled.includes(job), job.name)
  })

  t.test('make up once for what was due while nobody ran, with two supervisors', async (t) => {
    const declared = await declare({ policy: 'exclusive' })
    const hourly = await declare({ policy: 'exclusive' })
    const minute = new Date(Date.now() - 120_000).getUTCMinutes()
    await reconcileSchedules(boss, [
      { job: declared, cron: '* * * * *' },
      { job: hourly, cron: `${minute} * * * *` },
    ])
    // Three ticks ago somebody last looked at the schedules.
    await sql`update pgboss.version set cron_on = now() - interval '200 seconds'`
    await sql`update pgboss.schedule set created_on = now() - interval '1 hour'`
    const supervisors = await Promise.all([1, 2].map(() => openBoss(sql, { supervise: true, log })))
    t.teardown(() => Promise.all(supervisors.map((each) => each.stop({ graceful: false }))))
    const made = () => boss.findJobs(declared.name)
    await until(async () => (await made()).length > 0)
    await until(async () => (await boss.findJobs(hourly.name)).length > 0)
    // The one that was missed and the one that is due now: the queue's policy makes one of them.
    await until(async () => {
      const [left] = await sql<{ n: number }[]>`
        select count(*)::int as n from pgboss.job
        where name = '__pgboss__send-it' and state < 'completed'`
      return left?.n === 0
    })
    const jobs = await made()
    t.equal(jobs.length, 1, 'of 3 ticks')
    t.match(jobs[0]?.data, { org_id: null, payload: {} })
    const missed = await boss.findJobs(hourly.name)
    t.equal(missed.length, 1, 'of a tick that is over')
    await reconcileSchedules(boss)
  })

  t.test('node-cron enqueues nothing and writes no business rows', async (t) => {
    const sources = [...readSources(['test/**'])]
    const users = sources.filter(([, { packages }]) => packages.includes('node-cron'))
    for (const [file] of users) {
      const text = await readFile(file, 'utf8')
      t.notMatch(text, /enqueue|\.transaction\(|insert into|delete from/i, file)
    }
    t.ok(users.length > 0)
  })
})
