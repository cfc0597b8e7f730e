import t from 'tap'
import { checkInvariants } from '../invariants.ts'
import { effectJob, stepsJob } from '../jobs.ts'
import { openStage } from '../stage.ts'
import type { Worker } from '../stage.ts'

const ROUNDS = 5
const BOTH = [effectJob, stepsJob]

t.test('F3: a rolling restart under load', async (t) => {
  const stage = await openStage(t)
  const { sql } = stage
  const maintenance = await stage.startWorker([], { supervise: true })
  let workers: Worker[] = []
  for (let i = 0; i < 3; i++) workers.push(await stage.startWorker(BOTH, { graceMs: 10_000 }))
  const load = stage.load(20, (n) => (n % 4 === 0 ? stepsJob : effectJob))

  for (let round = 0; round < ROUNDS; round++) {
    const restarted: Worker[] = []
    for (const worker of workers) {
      await stage.busy(worker)
      const { code } = await stage.stop(worker)
      t.equal(code, 0, 'is drained within its patience')
      restarted.push(await stage.startWorker(BOTH, { graceMs: 10_000 }))
    }
    workers = restarted
  }
  t.equal((await stage.stop(maintenance)).code, 0)
  const { accepted, refused } = await load.stop()
  t.equal(refused, 0)
  await stage.allEnded()

  const released = await sql`select from job_attempts where outcome = 'released'`
  t.ok(released.length > 0, `${released.length} runs were interrupted`)
  const consumed = await sql`
    select from job_attempts where outcome in ('failed', 'lost')
    union all select from pgboss.job where name like 'fault.%' and retry_count > 0`
  t.equal(consumed.length, 0, 'and none cost an attempt')
  const failed = await sql`select from jobs where state <> 'succeeded'`
  t.equal(failed.length, 0, 'no job failed')
  await checkInvariants(t, sql, accepted)
  t.same(stage.fallen(), [])
})
