import t from 'tap'
import { toTraceRow } from '../../../jobs/rules/traces/trace-row.ts'
import { insertTraces } from '../../../sql/traces/trace-inserts.ts'
import { makePrepareHandler, prepareReplayHandler } from '../../../workers/replay/prepare-replay.ts'
import { recorded } from '../../support/recorded-trace.ts'
import { makeReplayAgent } from '../../support/replay-agent.ts'
import { openService } from '../../support/service.ts'
import type { Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { watchHandler } from '../../support/watched-handler.ts'

const TRACES = 650

t.test('a preparation that is stopped goes on after its last page', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const { client, submit, row, tasks } = await openBatch(service)
  const { batch_id, job_id } = await submit({ filters: {} })

  const holder = await sql.reserve()
  await holder`begin`
  await holder`lock table replay_tasks in share mode`
  const watched = watchHandler(prepareReplayHandler)
  const first = await service.startWorkers([watched.handler])
  await until(() => countLockWaits(sql, { table: 'replay_tasks' }))
  const stopping = first.stop()
  await watched.aborted()
  await holder`rollback`
  holder.release()
  await stopping
  t.match(await row(job_id), { state: 'queued', interruptions: 1 })
  const made = (await tasks(batch_id)).length
  t.ok(made > 0 && made < TRACES, `${made} tasks`)
  t.match((await client.get(`/replay/batches/${batch_id}`)).body, {
    status: 'pending',
    total: made,
  })

  await service.startWorkers([prepareReplayHandler])
  await until(async () => (await row(job_id)).state === 'succeeded')
  const all = await tasks(batch_id)
  t.same(
    all.map(({ trace_id }) => trace_id),
    Array.from({ length: TRACES }, (_, n) => `t${n}`),
    'each trace once, the newest first',
  )
  t.match((await row(job_id)).result, { batch_id, total: TRACES })
})

t.test('preparations', async (t) => {
  const service = await openService(t)
  const { sql } = service

  t.test('others have their turn between slices, which lose and repeat nothing', async (t) => {
    const { submit, row, tasks } = await openBatch(service)
    const worker = await service.startWorkers([makePrepareHandler({ sliceMs: 0 })])
    const { batch_id, job_id } = await submit({ filters: {} })
    await until(async () => (await row(job_id)).state === 'succeeded')
    t.equal((await tasks(batch_id)).length, TRACES)
    t.ok((await row(job_id)).attempt >= 3, 'runs')
    await worker.stop()
  })

  t.test('a trace that is gone or damaged is a skipped task', async (t) => {
    const { client, orgId, submit, row, tasks } = await openBatch(service)
    const { batch_id, job_id } = await submit({ trace_ids: ['t1', 't2', 't3', 't4'] })
    await client.delete('/traces/t2')
    await sql`update traces set content = 'x' where org_id = ${orgId} and trace_id = 't4'`
    const worker = await service.startWorkers([prepareReplayHandler])
    await until(async () => (await row(job_id)).state === 'succeeded')
    t.match(await tasks(batch_id), [
      { trace_id: 't1', status: 'pending' },
      { trace_id: 't2', status: 'skipped', replayability: 'none', reason: 'trace_gone' },
      { trace_id: 't3', status: 'pending' },
      { trace_id: 't4', status: 'skipped', replayability: 'none', reason: 'trace_unreadable' },
    ])
    await worker.stop()
  })

  t.test('a batch canceled before its turn gets no tasks, and its job is canceled', async (t) => {
    const { client, submit, row, tasks } = await openBatch(service)
    const { batch_id, job_id } = await submit({ filters: {} })
    t.match((await client.post(`/replay/batches/${batch_id}/cancel`)).body, { status: 'canceled' })
    t.match(await row(job_id), { state: 'canceled' })
    t.same(await tasks(batch_id), [])
  })

  t.test('a batch canceled while its tasks are made gets no more', async (t) => {
    const { client, submit, row, tasks } = await openBatch(service)
    const { batch_id, job_id } = await submit({ filters: {} })
    const holder = await sql.reserve()
    await holder`begin`
    await holder`lock table replay_tasks in share mode`
    const worker = await service.startWorkers([prepareReplayHandler])
    await until(() => countLockWaits(sql, { table: 'replay_tasks' }))
    const canceling = client.post(`/replay/batches/${batch_id}/cancel`)
    await until(async () => {
      const [waiting] = await sql`
        select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%for no key update%'
          and datname = current_database()`
      return waiting !== undefined
    })
    await holder`rollback`
    holder.release()
    const { body } = await canceling
    t.match(body, { status: 'canceled', counts: { pending: 0, canceled: body.total } })
    await until(async () => (await row(job_id)).finished_at !== null)
    const made = await tasks(batch_id)
    t.ok(made.length > 0)
    t.equal(made.length, body.total, 'none after the cancellation')
    t.same(new Set(made.map(({ status }) => status)), new Set(['canceled']))
    await worker.stop()
  })

  t.test('a batch whose job failed is canceled, and goes on when that is retried', async (t) => {
    const { client, submit, row, tasks, fail } = await openBatch(service)
    const { batch_id, job_id } = await submit({ trace_ids: ['t1', 't2'] })
    await fail(job_id)
    const path = `/replay/batches/${batch_id}`
    t.match((await client.get(path)).body, { status: 'canceled', canceled_at: String })
    t.equal((await client.get('/replay/batches?status=pending')).body.total, 0)
    t.equal((await client.get('/replay/batches?status=canceled')).body.total, 1)
    t.equal((await client.post(`/jobs/${job_id}/retry`)).status, 202)
    t.match((await client.get(path)).body, { status: 'pending', canceled_at: null })
    const worker = await service.startWorkers([prepareReplayHandler])
    await until(async () => (await row(job_id)).state === 'succeeded')
    t.equal((await tasks(batch_id)).length, 2)
    t.match((await client.get(path)).body, { status: 'pending', total: 2 })
    await worker.stop()
  })
})

/** An agent with traces `t0`, the newest, and so on. */
async function openBatch(service: Service) {
  const { sql } = service
  const { client, orgId, projectId, target } = await makeReplayAgent(service)
  const newest = Date.parse('2026-01-01T00:00:00Z')
  const rows = Array.from({ length: TRACES }, (_, n) => ({
    ...toTraceRow(recorded({ trace_id: `t${n}`, user_input_preview: `request ${n}` }), 'shared'),
    started_at: new Date(newest - n * 1000),
    org_id: orgId,
    project_id: projectId,
  }))
  await insertTraces(sql, rows)
  return {
    client,
    orgId,
    async submit(chosen: object) {
      const body = { target_manifest_id: target, ...chosen }
      return (await client.post('/replay/batches', body, { prefer: 'respond-async' })).body
    },
    async row(jobId: string) {
      const [job] = await sql<JobFacts[]>`
        select state, interruptions, attempt, result, finished_at from jobs where id = ${jobId}`
      if (!job) throw new Error('The job is gone')
      return job
    },
    async tasks(batchId: string) {
      return sql<{ trace_id: string; status: string }[]>`
        select trace_id, status, replayability, reason from replay_tasks
        where batch_id = ${batchId} order by ordinal`
    },
    /** Ends a job that waits as if its attempts had all failed. */
    async fail(jobId: string) {
      await sql`delete from pgboss.job where name = 'replay.prepare'`
      await sql`
        update jobs set state = 'failed', finished_at = now(),
          error = ${'{"code": "internal", "message": "x", "retryable": true}'}::text::jsonb
        where id = ${jobId}`
    },
  }
}

interface JobFacts {
  state: string
  interruptions: number
  attempt: number
  result: object | null
  finished_at: Date | null
}
