import t from 'tap'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { requestCancel } from '../../sql/jobs/jobs.ts'
import { deadLetterName } from '../../jobs/job.ts'
import { checkPace } from './pace.ts'
import { until } from '../support/until.ts'
import { checkInvariants, UNCLAIMED_SECONDS } from './invariants.ts'
import { blockEnd, blockJob, deafJob, effectJob, frailJob, ioJob, poisonJob } from './jobs.ts'
import { LONG, openStage } from './stage.ts'
import type { Worker } from './stage.ts'

// They mostly wait for heartbeats to be missed.
t.jobs = 3

t.test('F9: a handler that blocks the event loop', { buffered: true }, async (t) => {
  const stage = await openStage(t)
  await stage.startWorker([], { supervise: true })
  await stage.startWorker([blockJob], { slots: 1 })
  const watching = stage.watch()
  const id = await stage.submit(blockJob, 5000)
  t.teardown(() => rm(blockEnd(id), { force: true }))
  await until(async () => (await findAttempts(stage, id)).length === 1)
  await stage.startWorker([blockJob], { slots: 1 })
  await until(async () => (await findAttempts(stage, id)).length === 2)
  await writeFile(blockEnd(id), '')
  await stage.allEnded()
  const [job] = await stage.sql`select state, attempt, result from jobs where id = ${id}`
  t.match(job, { state: 'succeeded', attempt: 2, result: { attempt: 2 } }, 'was run by another')
  // While the second one ran, the first woke up and found that it holds nothing any more.
  const effects = await stage.sql<{ step: number }[]>`select step from effects where job_id = ${id}`
  t.same(
    effects.map(({ step }) => step),
    [2],
    'the writes of the first were fenced off',
  )
  checkPace(t, watching.stop(), UNCLAIMED_SECONDS, 'I3: running without a worker')
  await checkInvariants(t, stage.sql, [id])
  t.same(stage.fallen(), [])
})

t.test('F10: a handler that ignores its signal', { buffered: true }, async (t) => {
  const stage = await openStage(t)
  const options = { slots: 2, supervise: true, graceMs: 1000 }
  const worker = await stage.startWorker([deafJob, effectJob], options)
  const overruns = async () => {
    const answer = once(worker.child, 'message')
    worker.child.send('overruns')
    return ((await answer)[0] as { overruns: Told[] }).overruns
  }
  const running = () => stage.sql`select from jobs where kind = ${deafJob.name} and attempt > 0`
  const [first, second, third] = [
    await stage.submit(deafJob),
    await stage.submit(deafJob),
    await stage.submit(deafJob),
  ]
  await until(async () => (await running()).length === 2)
  await requestCancel(stage.sql, stage.org.orgId, first)
  const effect = await stage.submit(effectJob, 1)
  await until(async () => {
    const ended = await stage.sql`select from jobs where state = 'succeeded'`
    return ended.length === 1
  })
  const found = await until(async () => {
    const all = await overruns()
    return all.length > 0 && all
  })
  t.match(found, [{ jobId: first, reason: 'canceled' }], 'is reported with its job')
  const sinceMs = Date.now() - Date.parse(found[0]?.toldAt ?? '')
  t.ok(sinceMs >= 10_000, 'when it had some time to come to its end')
  await until(async () => (await running()).length === 3)
  t.pass('its slot is given to another job')
  await until(async () => {
    const [job] = await stage.sql`select state from jobs where id = ${first}`
    return job?.['state'] === 'canceled'
  })
  t.pass('its claim is not kept alive, so that somebody else ends the job')

  await requestCancel(stage.sql, stage.org.orgId, second)
  await requestCancel(stage.sql, stage.org.orgId, third)
  t.equal((await stage.stop(worker)).code, 1, 'a stop with runs left over says so')
  await stage.startWorker([deafJob], { supervise: true })
  await stage.allEnded()
  await checkInvariants(t, stage.sql, [first, second, third, effect])
})

t.test('F11: a job that kills its process each time', { buffered: true }, async (t) => {
  const stage = await openStage(t)
  await stage.startWorker([ioJob], { supervise: true })
  const accepted = [await stage.submit(poisonJob)]
  // They run in the processes it ends.
  for (let n = 0; n < 3; n++) accepted.push(await stage.submit(frailJob, 200))
  let deaths = 0
  let isOver = false
  /** As an orchestrator would. */
  const keeping = (async () => {
    while (!isOver) {
      const worker: Worker = await stage.startWorker([frailJob, poisonJob])
      const died = once(worker.child, 'exit')
      while (!isOver && worker.child.signalCode === null) {
        await Promise.race([died, setTimeout(200)])
      }
      worker.isKilled = true
      if (worker.child.signalCode === 'SIGKILL') deaths++
    }
  })()
  const [id] = accepted as [string]
  for (let n = 0; n < (LONG ? 100 : 20); n++) accepted.push(await stage.submit(ioJob, 10))
  await until(async () => {
    const ended = await stage.sql`select from jobs where state = 'succeeded'`
    return ended.length === accepted.length - 1
  })
  t.pass('others flow, and its neighbours lose no attempt')
  await stage.allEnded()
  isOver = true
  await keeping
  t.equal(deaths, 2, 'retryLimit + 1 claims')
  const [job] = await stage.sql`select state, error from jobs where id = ${id}`
  t.match(job, { state: 'failed', error: { code: 'worker_lost', retryable: true } })
  const dead = await stage.boss.findJobs<{ job_id: string }>(deadLetterName(poisonJob.name))
  t.same(
    dead.map(({ data }) => data.job_id),
    [id],
    'is in the dead letters',
  )
  const lost = await stage.sql<{ alone: boolean }[]>`
    select not exists (
        select from job_attempts other
        where other.worker = poison.worker and other.job_id <> poison.job_id
          and other.ended_at > poison.started_at) as alone
    from job_attempts poison where job_id = ${id} and outcome = 'lost' order by attempt`
  t.match(lost, [{}, { alone: true }], 'it was alone the second time')
  await checkInvariants(t, stage.sql, accepted)
  t.same(stage.fallen(), [])
})

function findAttempts({ sql }: Awaited<ReturnType<typeof openStage>>, id: string) {
  return sql`select attempt, outcome from job_attempts where job_id = ${id} order by attempt`
}

interface Told {
  readonly jobId: string
  readonly reason: string
  readonly toldAt: string
}
