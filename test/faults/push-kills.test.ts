import t from 'tap'
import { once } from 'node:events'
import type { Transaction } from '../../sql/core/db.ts'
import { startDispatch } from '../../sql/transactions/start-dispatch.ts'
import { insertReplayBatch } from '../support/replay-tasks.ts'
import { startRunner } from '../support/runner.ts'
import { openService } from '../support/service.ts'
import { storeJudged } from '../support/stored-traces.ts'
import { until } from '../support/until.ts'
import { startWorkerProcess } from '../support/worker-process.ts'
import { LONG } from './stage.ts'

const TASKS = LONG ? 300 : 30
/** Requests of one task that are not answered: one is under way at the kill, another times out. */
const HANGS = LONG ? 2 : 1

t.test('a worker killed while it sends tasks to a runner that hangs once in a while', async (t) => {
  const env = { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' }
  const service = await openService(t, { env })
  const { sql, context } = service
  const org = await service.makeOrganization('enterprise')
  let hangs = 0
  const runner = await startRunner(t, ({ body: { task } }, response) => {
    if (task.trace_id === 't0' && ++hangs <= HANGS) return
    const trace = { trace_id: `replay of ${task.trace_id}` }
    setTimeout(() => response.end(JSON.stringify({ status: 'completed', trace })), 50)
  })
  const traces = Array.from({ length: TASKS }, (_, i) => `t${i}`)
  await storeJudged(
    sql,
    org,
    traces.map((trace_id) => ({ trace_id })),
  )
  const { id: batchId } = await insertReplayBatch(sql, org, traces, { mode: 'push' })
  await sql`update replay_batches set runner_url = ${runner.url} where id = ${batchId}`
  const batch = { orgId: org.orgId, projectId: org.projectId, batchId, createdBy: null }
  await context.queue.transaction(sql, (tx: Transaction) => startDispatch(tx, context.queue, batch))

  const startWorker = () => startWorkerProcess(service, 'replay,evals,maintenance', env)

  let worker = await startWorker()
  t.teardown(() => worker.kill('SIGKILL'))
  await until(() => runner.received.length > 5)
  worker.kill('SIGKILL')
  await once(worker, 'exit')
  // What it sent last may still be committed.
  await until(async () => {
    const connected = await sql`
      select from pg_stat_activity
      where datname = current_database() and application_name like 'workers%'`
    return connected.length === 0
  })
  // Ten minutes later.
  await sql`
    update replay_tasks set leased_until = now() - interval '1 s'
    where batch_id = ${batchId} and status = 'leased'`
  worker = await startWorker()
  await until(async () => {
    const [job] = await sql<{ state: string }[]>`
      select j.state from jobs j join replay_batches b on b.dispatch_job_id = j.id
      where b.id = ${batchId}`
    return job?.state === 'succeeded'
  })

  const tasks = await sql<{ status: string; attempt: number; trace_id: string }[]>`
    select status, attempt, trace_id from replay_tasks where batch_id = ${batchId}`
  t.same(new Set(tasks.map(({ status }) => status)), new Set(['completed']))
  t.ok(tasks.every(({ attempt }) => attempt <= 3))
  const first = tasks.find(({ trace_id }) => trace_id === 't0')
  t.equal(first?.attempt, HANGS + 1, 'each request that was not answered is an attempt')
  const [stored] = await sql<{ replays: number; used: number }[]>`
    select (select count(*)::int from traces
        where org_id = ${org.orgId} and source_type = 'replayed') as replays,
      (select coalesce(sum(current), 0)::int from usage
        where org_id = ${org.orgId} and metric = 'traces_ingested') as used`
  t.same(stored, { replays: TASKS, used: TASKS }, 'each result is stored and charged once')
  const ids = runner.received.map(({ headers }) => headers['x-service-event-id'])
  const sent = runner.received.map(({ body: { task } }) => `${task.id}:${task.attempt}`)
  t.equal(new Set(sent).size, sent.length, 'an attempt is sent once')
  t.equal(new Set(ids).size, ids.length, 'each is an event of its own')
})
