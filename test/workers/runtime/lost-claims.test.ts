import t from 'tap'
import type { Test } from 'tap'
import { deadLetterName } from '../../../jobs/job.ts'
import { listJobAttempts } from '../../../sql/jobs/job-attempts.ts'
import { releaseLostClaims } from '../../../workers/maintenance/release-lost-claims.ts'
import { ThreadEnded } from '../../../workers/runtime/give-up.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import type { AnyHandler } from '../../../workers/runtime/handler.ts'
import { gate, openQueues } from '../../support/queues.ts'
import type { NumberJob } from '../../support/queues.ts'
import { until } from '../../support/until.ts'

t.test('a job that did not end by itself', async (t) => {
  const queues = await openQueues(t)
  const { sql, service, org } = queues
  const { boss } = service
  const { context, stop } = await service.startWorkers([])
  await stop()
  const supervising = { ...context, sql, queue: service.context.queue }

  /** When the worker was last heard of that has the job of the queue, from now. */
  const hear = ({ name }: NumberJob, from: string) => sql`
    update pgboss.job set heartbeat_on = now() + ${from}::interval
    where name = ${name} and state = 'active'`

  /** A job whose worker took it and was not heard of since. */
  async function loseWorker(declared: NumberJob) {
    const id = await queues.submit(declared)
    await boss.fetch(declared.name)
    await sql`
      update jobs set state = 'running', attempt = 1, queue_attempt = 0, started_at = now()
      where id = ${id}`
    await sql`
      insert into job_attempts (org_id, job_id, attempt, worker) values (${org.orgId}, ${id}, 1, 'w')`
    await hear(declared, '-11 seconds')
    return id
  }

  /** Supervision goes on as long as workers run, and would release what a later test loses. */
  async function startUntilEnd(t: Test, ...handlers: AnyHandler[]) {
    const started = await service.startWorkers(handlers)
    t.teardown(started.stop)
    return started
  }

  const outcomes = async (id: string) =>
    (await listJobAttempts(sql, org.orgId, id, 20)).map(({ outcome }) => outcome)

  t.test('has every attempt left when its worker was lost and it fails by itself', async (t) => {
    const declared = await queues.declare({ retryLimit: 2 })
    const id = await loseWorker(declared)
    await releaseLostClaims(supervising, boss)
    t.match(await queues.find(id), { state: 'queued', interruptions: 1 })
    await startUntilEnd(
      t,
      handler(declared, async () => {
        throw new Error('its own fault')
      }),
    )
    t.match(await queues.ended(id), { state: 'failed' })
    t.same(await outcomes(id), ['lost', 'failed', 'failed', 'failed'])
    t.equal((await boss.findJobs(deadLetterName(declared.name))).length, 1)
  })

  t.test('fails with the run after the loss of its last attempt, whatever ends that', async (t) => {
    const declared = await queues.declare({ retryLimit: 0 })
    const id = await loseWorker(declared)
    await releaseLostClaims(supervising, boss)
    await startUntilEnd(
      t,
      handler(declared, async () => {
        throw new Error('its own fault')
      }),
    )
    t.match(await queues.ended(id), { state: 'failed' })
    t.same(await outcomes(id), ['lost', 'failed'])
  })

  t.test('is canceled after the loss of its worker when somebody wants that', async (t) => {
    const declared = await queues.declare()
    const id = await loseWorker(declared)
    await sql`update jobs set state = 'cancelling', cancel_requested_at = now() where id = ${id}`
    await releaseLostClaims(supervising, boss)
    t.same(await boss.fetch(declared.name), [], 'nobody runs it again')
    t.match(await queues.find(id), { state: 'cancelling' })
  })

  t.test('is released beside one that cannot be', async (t) => {
    const declared = await queues.declare()
    const [bad, good] = [await loseWorker(declared), await loseWorker(declared)]
    await sql`create table refused as select ${bad}::uuid as id`
    await sql`
      create function refuse() returns trigger language plpgsql as
        'begin if exists (select from refused where id = new.id) then raise exception ''bad''; end if; return new; end'`
    await sql`create trigger refuse before update on jobs for each row execute function refuse()`
    await releaseLostClaims(supervising, boss)
    t.match(await queues.find(bad), { state: 'running' })
    t.match(await queues.find(good), { state: 'queued', interruptions: 1 })
    await sql`drop trigger refuse on jobs`
    await releaseLostClaims(supervising, boss)
    t.match(await queues.find(bad), { state: 'queued' })
  })

  t.test('runs alone, and what ran beside it goes on later without a loss', async (t) => {
    const lost = await queues.declare()
    const long = await queues.declare({ retryLimit: 0 })
    const id = await loseWorker(lost)
    // So that supervision does not release it before the others run.
    await hear(lost, '1 hour')
    const running = new Set<string>()
    const alone: boolean[] = []
    const { opened, open } = gate()
    let begun = 0
    const { pools } = await startUntilEnd(
      t,
      handler(lost, async () => {
        alone.push(running.size === 0)
      }),
      handler(long, async (_, { signal, jobId = '' }) => {
        running.add(jobId)
        begun++
        const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
        await Promise.race([opened, aborted])
        running.delete(jobId)
        signal.throwIfAborted()
      }),
    )
    const others = [await queues.submit(long), await queues.submit(long)]
    await until(() => running.size === 2)
    await hear(lost, '-11 seconds')
    await releaseLostClaims(supervising, boss)
    t.match(await queues.ended(id), { state: 'succeeded' })
    t.same(alone, [true])
    await until(() => begun === 4 && pools.running() === 2)
    open()
    for (const other of others) {
      t.match(await queues.ended(other), { state: 'succeeded' })
      t.same(await outcomes(other), ['released', 'succeeded'])
    }
  })

  t.test('is tried alone when its thread has ended, and then loses an attempt', async (t) => {
    const declared = await queues.declare({ retryLimit: 1 })
    const id = await queues.submit(declared)
    await startUntilEnd(
      t,
      handler(declared, async () => {
        throw new ThreadEnded('out of memory')
      }),
    )
    t.match(await queues.ended(id), { state: 'failed' })
    t.same(await outcomes(id), ['released', 'failed'])
  })

  /** Runs a job that throws these one after the other. */
  async function runThrowing(retryLimit: number, errors: object[]) {
    const declared = await queues.declare({ retryLimit })
    const id = await queues.submit(declared)
    const { stop } = await queues.start(
      handler(declared, async () => {
        throw Object.assign(new Error('of the database'), errors.shift())
      }),
    )
    t.match(await queues.ended(id), { state: 'failed' })
    await stop()
    return outcomes(id)
  }

  t.test('loses no attempt when the database was away, but one by a slow statement', async (t) => {
    const codes = ['CONNECTION_CLOSED', '57P01', 'ECONNREFUSED', '57014', '57014']
    const errors = codes.map((code) => ({ code, query: 'select 1' }))
    t.same(await runThrowing(1, errors), ['released', 'released', 'released', 'failed', 'failed'])
  })

  t.test('loses attempts by what only looks like an outage', async (t) => {
    for (const error of [{ code: 'ECONNRESET' }, { code: '08P01', query: 'select 1' }]) {
      t.same(await runThrowing(0, [error]), ['failed'], error.code)
    }
  })

  t.test('loses attempts when it cuts its connection again and again', async (t) => {
    const errors = Array.from({ length: 9 }, () => ({ code: '57P02' }))
    const released = ['released', 'released', 'released']
    t.same(await runThrowing(1, errors), [...released, 'failed', 'failed'])
    t.equal(errors.length, 4)
  })
})
