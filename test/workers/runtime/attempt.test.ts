import t from 'tap'
import type { JobQueueOptions } from '../../../jobs/job.ts'
import { listJobAttempts } from '../../../sql/jobs/job-attempts.ts'
import { claimJob } from '../../../sql/jobs/job-claims.ts'
import { findJob, requestCancel } from '../../../sql/jobs/jobs.ts'
import { GiveUp } from '../../../workers/runtime/give-up.ts'
import { CONTINUE, handler, transactionalHandler } from '../../../workers/runtime/handler.ts'
import type { AnyHandler, Run } from '../../../workers/runtime/handler.ts'
import { openQueues, untilAborted } from '../../support/queues.ts'
import type { NumberJob } from '../../support/queues.ts'
import { until } from '../../support/until.ts'

t.test('an attempt at a job', async (t) => {
  const queues = await openQueues(t)
  const { service, sql, org, ended } = queues
  await sql`create table effects (n int not null)`

  /** A queue of its own for a test, with its handler running. */
  async function start(
    make: (declared: NumberJob) => AnyHandler,
    options: Partial<JobQueueOptions> = {},
  ) {
    const declared = await queues.declare(options)
    const workers = await queues.start(make(declared))
    return { declared, submit: (n?: number) => queues.submit(declared, n), ...workers }
  }

  t.test('stores what a handler returns and ends the job once', async (t) => {
    const { submit } = await start((declared) => handler(declared, async ({ n }) => ({ n })))
    const job = await ended(await submit(7))
    t.match(job, { state: 'succeeded', result: { n: 7 }, attempt: 1, error: null })
  })

  t.test('has the claim it made when it asks again because the answer was lost', async (t) => {
    const declared = await queues.declare()
    const id = await queues.submit(declared)
    const [queued] = await service.boss.fetch(declared.name)
    const claim = { orgId: org.orgId, id, queueJobId: queued?.id ?? '', worker: 'w' }
    const first = await claimJob(sql, { ...claim, queueAttempt: 1 })
    t.match(first, { attempt: 1, state: 'running' })
    t.same(await claimJob(sql, { ...claim, queueAttempt: 1 }), first)
    t.match(await listJobAttempts(sql, org.orgId, id, 9), [{ attempt: 1, outcome: null }])
    t.equal(await claimJob(sql, { ...claim, queueAttempt: 0 }), undefined, 'an older one has lost')
    t.match(await claimJob(sql, { ...claim, queueAttempt: 2 }), { attempt: 2 })
    await sql`update jobs set state = 'queued' where id = ${id}`
    t.equal(await claimJob(sql, { ...claim, queueAttempt: 2 }), undefined, 'it was taken away')
  })

  t.test('retries after an error and keeps the error until then', async (t) => {
    let runs = 0
    let kept: object | null | undefined
    const { submit } = await start((declared) =>
      handler(declared, async (_, { jobId = '' }) => {
        if (++runs === 1) throw new Error('first time')
        kept = (await findJob(sql, org.orgId, jobId))?.error
        return { runs }
      }),
    )
    const id = await submit()
    t.match(await ended(id), { state: 'succeeded', attempt: 2, error: null })
    t.match(kept, { code: 'internal_error' })
  })

  t.test('fails after the last retry and leaves a dead letter', async (t) => {
    const { submit, declared, boss } = await start(
      (d) =>
        handler(d, async () => {
          throw new Error('always')
        }),
      { retryLimit: 1 },
    )
    const job = await ended(await submit())
    t.match(job, {
      state: 'failed',
      attempt: 2,
      error: { code: 'internal_error', retryable: true },
    })
    t.equal((await boss.findJobs(`${declared.name}.dlq`)).length, 1)
  })

  t.test('tells of an error of its own in the queue, and not in the job', async (t) => {
    const { submit, declared, boss } = await start(
      (d) =>
        handler(d, async () => {
          throw new Error("ENOENT: no such file, open '/srv/secret'")
        }),
      { retryLimit: 0 },
    )
    const job = await ended(await submit())
    t.same(job?.error, { code: 'internal_error', message: 'Internal error', retryable: true })
    const [queued] = await boss.findJobs(declared.name)
    t.match(queued?.output, { message: /ENOENT/ })
  })

  t.test('does not retry what a handler gives up', async (t) => {
    const { submit } = await start((declared) =>
      handler(declared, async () => {
        throw new GiveUp('hopeless', 'There is no way', { details: { where: 'here' } })
      }),
    )
    const job = await ended(await submit())
    t.match(job, {
      state: 'failed',
      attempt: 1,
      error: { code: 'hopeless', retryable: false, details: { where: 'here' } },
    })
  })

  t.test('does the work of a transactional handler and its settlement together', async (t) => {
    const { submit } = await start((declared) =>
      transactionalHandler(declared, async ({ n }, run, tx) => {
        await tx`insert into effects (n) values (${n})`
        if (run.attempt === 1) throw new Error('after the effect')
      }),
    )
    const job = await ended(await submit(41))
    t.match(job, { state: 'succeeded', attempt: 2 })
    const [effects] = await sql<
      { n: number }[]
    >`select count(*)::int as n from effects where n = 41`
    t.equal(effects?.n, 1)
  })

  t.test('goes on from the last checkpoint when a handler continues', async (t) => {
    const { submit } = await start((declared) =>
      handler(declared, async (_, run) => {
        const at = (run.checkpointed?.at ?? 0) + 1
        await run.sql.begin((tx) =>
          run.checkpoint(tx, { done: at, total: 3, unit: 'steps' }, { at }),
        )
        return at < 3 ? CONTINUE : { at }
      }),
    )
    const job = await ended(await submit())
    t.match(job, { state: 'succeeded', attempt: 3, interruptions: 0, result: { at: 3 } })
    t.match(job, { progress_done: 3, progress_total: 3, progress_unit: 'steps' })
  })

  t.test('never lowers the share that is done, in whatever phase or attempt', async (t) => {
    const reported = [
      { done: 5, unit: 'traces', note: 'counting' },
      { done: 1, total: 4, unit: 'traces' },
      { done: 3, total: 4, unit: 'traces' },
      { done: 4, total: 10, unit: 'traces', note: 'more than thought' },
      { done: 0, unit: 'rows', note: 'from the beginning' },
      { done: 9, total: 10, unit: 'traces' },
    ]
    const stored: object[] = []
    let runs = 0
    const { submit } = await start((declared) =>
      handler(declared, async (_, run) => {
        for (const progress of reported) {
          await run.sql.begin((tx) => run.checkpoint(tx, progress))
          const job = await findJob(sql, org.orgId, run.jobId ?? '')
          stored.push([job?.progress_done, job?.progress_total, job?.progress_unit])
        }
        if (++runs === 1) throw new Error('once more')
      }),
    )
    t.match(await ended(await submit()), { state: 'succeeded', attempt: 2, progress_done: 10 })
    const first = [
      [5, null, 'traces'],
      [1, 4, 'traces'],
      [3, 4, 'traces'],
      [8, 10, 'traces'],
      [8, 10, 'traces'],
      [9, 10, 'traces'],
    ]
    const second = [
      [9, 10, 'traces'],
      [4, 4, 'traces'],
      [4, 4, 'traces'],
      [10, 10, 'traces'],
      [10, 10, 'traces'],
      [10, 10, 'traces'],
    ]
    t.same(stored, [...first, ...second])
  })

  t.test('gives up where the stored checkpoint does not have its declared shape', async (t) => {
    const declared = await queues.declare()
    const id = await queues.submit(declared)
    await sql`update jobs set checkpoint = '{"at": "somewhere"}' where id = ${id}`
    let runs = 0
    await queues.start(
      handler(declared, async () => {
        runs++
      }),
    )
    t.match(await ended(id), {
      state: 'failed',
      attempt: 1,
      error: {
        code: 'invalid_checkpoint',
        message: `Checkpoint of ${declared.name}: "at" must be a number`,
        retryable: false,
      },
    })
    t.equal(runs, 0, 'nothing was done from a place that is not known')
  })

  t.test(
    'a checkpoint that does not have its shape is not stored, nor what came with it',
    async (t) => {
      const { submit } = await start((declared) =>
        handler(declared, async (_, run) => {
          await run.sql.begin(async (tx) => {
            await tx`insert into effects (n) values (43)`
            await run.checkpoint(tx, { done: 1 }, { at: -1 })
          })
          return CONTINUE
        }),
      )
      const id = await submit()
      t.match(await ended(id), {
        state: 'failed',
        attempt: 1,
        error: { code: 'invalid_checkpoint', retryable: false },
      })
      t.same(await sql`select n from effects where n = 43`, [])
      t.same([...(await sql`select checkpoint from jobs where id = ${id}`)], [{ checkpoint: null }])
    },
  )

  t.test(
    'what a checkpoint holds comes back typed, and without members nobody declared',
    async (t) => {
      const seen: unknown[] = []
      const { submit } = await start((declared) =>
        handler(declared, async (_, run) => {
          seen.push(run.checkpointed)
          if (run.checkpointed) return
          const more = { at: 5, more: 'unknown' }
          await run.sql.begin((tx) => run.checkpoint(tx, { done: 1 }, more))
          return CONTINUE
        }),
      )
      t.match(await ended(await submit()), { state: 'succeeded' })
      t.same(seen, [undefined, { at: 5 }])
    },
  )

  t.test('a canceled running job stops and is settled as canceled', async (t) => {
    const { submit, pools } = await start((declared) => handler(declared, untilAborted))
    const id = await submit()
    await until(() => pools.running() === 1)
    await requestCancel(sql, org.orgId, id)
    await sql`select pg_notify('job_cancel', ${id})`
    t.match(await ended(id), { state: 'canceled', result: null })
  })

  t.test('a cancel whose notification is lost is found by the heartbeat', async (t) => {
    const { submit, pools } = await start((declared) => handler(declared, untilAborted))
    const id = await submit()
    await until(() => pools.running() === 1)
    await requestCancel(sql, org.orgId, id)
    t.match(await ended(id), { state: 'canceled' })
  })

  t.test('a stopping worker puts its job back without losing an attempt of it', async (t) => {
    let runs = 0
    const work = async (_: object, run: Run) => {
      if (++runs === 1) await untilAborted(_, run)
      return { runs }
    }
    const { submit, stop, declared } = await start((d) => handler(d, work), {
      policy: 'exclusive',
      retryLimit: 0,
    })
    const id = await submit()
    await until(() => runs === 1)
    await stop()
    t.match(await findJob(sql, org.orgId, id), { state: 'queued', interruptions: 1 })
    await service.startWorkers([handler(declared, work)])
    t.match(await ended(id), { state: 'succeeded', result: { runs: 2 } })
  })

  t.test('a run that lost its claim can write nothing any more', async (t) => {
    let release = () => {}
    const blocked = new Promise<void>((resolve) => {
      release = resolve
    })
    const { submit, pools } = await start((declared) =>
      handler(declared, async (_, run) => {
        await blocked
        await run.sql.begin(async (tx) => {
          await tx`insert into effects (n) values (99)`
          await run.checkpoint(tx, { done: 1 })
        })
      }),
    )
    const id = await submit()
    await until(async () => (await queues.find(id))?.state === 'running')
    await sql`update jobs set attempt = attempt + 1 where id = ${id}`
    release()
    await until(() => pools.running() === 0)
    const [effects] = await sql<
      { n: number }[]
    >`select count(*)::int as n from effects where n = 99`
    t.equal(effects?.n, 0)
    t.match(await findJob(sql, org.orgId, id), { state: 'running', attempt: 2 })
  })
})
