import t from 'tap'
import { setTimeout } from 'node:timers/promises'
import { checkInvariants } from '../invariants.ts'
import { ioJob } from '../jobs.ts'
import { openStage } from '../stage.ts'

const BACKLOG = 5000
const PHASE_MS = 8000
/** The backlog outlasts the start of three processes, also on a slow machine. */
const JOB_MS = 50

t.test('F21: a pool scaled from 1 to 4 processes and back under a backlog', async (t) => {
  const stage = await openStage(t)
  await stage.startWorker([], { supervise: true })
  const first = await stage.startWorker([ioJob], { slots: 2 })
  const accepted: string[] = []
  for (let n = 0; n < BACKLOG; n += 25) {
    const batch = Array.from({ length: 25 }, () => stage.submit(ioJob, JOB_MS))
    accepted.push(...(await Promise.all(batch)))
  }
  /** Jobs done in a second. */
  async function measure() {
    const [before] = await stage.sql<{ n: number; at: Date }[]>`
      select count(*)::int as n, clock_timestamp() as at from jobs where finished_at is not null`
    await setTimeout(PHASE_MS)
    const [after] = await stage.sql<{ n: number; at: Date }[]>`
      select count(*)::int as n, clock_timestamp() as at from jobs where finished_at is not null`
    if (!before || !after) throw new Error('no answer')
    return ((after.n - before.n) / (after.at.getTime() - before.at.getTime())) * 1000
  }

  const one = await measure()
  const more = await Promise.all([1, 2, 3].map(() => stage.startWorker([ioJob], { slots: 2 })))
  const four = await measure()
  const [left] = await stage.sql`select count(*)::int as n from jobs where finished_at is null`
  t.ok(left?.['n'] > 50, `${left?.['n']} jobs are left when it is scaled down`)
  const [workers] = await stage.sql`select count(distinct worker)::int as n from job_attempts`
  t.equal(workers?.['n'], 4, 'each process has taken jobs')
  const stops = await Promise.all(more.map((worker) => stage.stop(worker)))
  t.same(
    stops.map(({ code }) => code),
    [0, 0, 0],
  )
  await stage.allEnded()
  t.comment(`${one.toFixed(0)} jobs a second with 1 process, ${four.toFixed(0)} with 4`)
  t.ok(four >= 2.5 * one, 'four processes do 2.5 times as much as one')
  const cut = await stage.sql`
    select from job_attempts where outcome not in ('succeeded', 'released')
    union all select from jobs where state <> 'succeeded'`
  t.equal(cut.length, 0, 'nothing was begun twice: what was put back had not begun')
  await checkInvariants(t, stage.sql, accepted)
  t.same(stage.fallen(), [])
  t.equal((await stage.stop(first)).code, 0)
})
