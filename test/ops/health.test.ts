import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { Job } from '../../jobs/job.ts'
import { job } from '../../jobs/job.ts'
import { shape } from '../../jobs/shape.ts'
import { openBoss, reconcileQueues } from '../../ops/boss.ts'
import { readConfig } from '../../ops/config.ts'
import { startHealth } from '../../ops/health.ts'
import { meterRequests } from '../../ops/api-metrics.ts'
import { meterWorkers, openMetrics, showQueues, showSlots, showStorage } from '../../ops/metrics.ts'
import { workerHealth } from '../../ops/worker-health.ts'
import { openDatabase } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { pauseQueue, resumeQueue } from '../../sql/jobs/queue-control.ts'
import { handler } from '../../workers/runtime/handler.ts'
import { createDatabase } from '../support/database.ts'
import { openProxy } from '../support/proxy.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { findFreePort } from '../../ops/free-port.ts'

t.test('the internal listener of a worker process', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const declared: Job = job(
    'test.health',
    { payload: shape({}) },
    {
      retryLimit: 0,
      retryDelaySeconds: 1,
      retryDelayMaxSeconds: 1,
      expireInSeconds: 60,
      heartbeatSeconds: 10,
    },
  )
  await reconcileQueues(service.boss, [declared])
  const metrics = openMetrics()
  let stopping = false
  const worker = await service.startWorkers(
    [handler(declared, async () => {})],
    3,
    meterWorkers(metrics, [declared.name, 'test.other']),
  )
  showSlots(metrics, worker.pools)
  showQueues(metrics, worker.boss, service.sql)
  meterRequests(metrics, service.server)
  const port = await findFreePort()
  const parts = {
    sql: service.sql,
    boss: worker.boss,
    pools: worker.pools,
    concurrency: { evals: 3 },
  }
  const listener = await startHealth(readConfig({ HEALTH_PORT: String(port) }))
  t.teardown(listener.close)
  listener.show({ ...workerHealth(parts, () => stopping, service.context.now), metrics })
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    const text = await response.text()
    return { status: response.status, text, body: text.startsWith('{') ? JSON.parse(text) : null }
  }

  t.test('is alive and ready while it works', async (t) => {
    t.match(await get('/livez'), { status: 200, body: { status: 'ok' } })
    const ready = await until(async () => {
      const answer = await get('/readyz')
      return answer.status === 200 && answer
    })
    t.match(ready.body, { status: 'ok', reasons: [] })
    t.equal((await get('/nowhere')).status, 404)
  })

  t.test('warns while nobody supervises the queues, without being unready', async (t) => {
    await service.sql`update pgboss.queue set monitor_on = now() - interval '10 minutes'`
    const { status, body } = await until(async () => {
      const answer = await get('/readyz')
      return !answer.text.includes('took too long') && answer
    })
    if (body.warnings.length > 0) t.match(body.warnings[0], /pool maintenance/)
    t.equal(status, 200)
    await until(async () => (await get('/readyz')).body.warnings.length === 0)
  })

  t.test('shows what was done in Prometheus text', async (t) => {
    const enqueue = () =>
      service.context.queue.transaction(service.sql, async (tx: Transaction) => {
        await service.context.queue.enqueue(tx, declared, {}, { orgId: org.orgId })
      })
    await enqueue()
    await service.client(org.key).get('/jobs')
    const asked = { items: [], channel: 'cli', purpose: 'a word of its own' }
    await service.client(org.key).post('/registry/install/resolve', asked)
    const { text } = await until(async () => {
      const answer = await get('/metrics')
      return (
        answer.text.includes('adl_jobs_ran_total{queue="test.health",outcome="done"} 1') && answer
      )
    })
    t.match(text, /adl_slots\{queue="test\.health",state="idle"\} 3/)
    t.match(text, /adl_queue_jobs\{queue="test\.health",state="ready"\} \d/)
    t.match(
      text,
      /adl_http_request_seconds_count\{method="get",route="\/api\/v1\/jobs",status="200"\} 1/,
    )
    t.match(text, /adl_registry_resolves_total\{channel="cli",purpose="other"\} 1/)
    t.match(text, /adl_job_wait_seconds_bucket/)
    // A poll may be under way when the notification comes.
    const after = await until(async () => {
      await enqueue()
      const answer = await get('/metrics')
      return (
        /adl_looks_for_jobs_total\{queue="test\.health",way="notified"\} [1-9]/.test(answer.text) &&
        answer
      )
    })
    t.match(
      after.text,
      /adl_looks_for_jobs_total\{queue="test\.other",way="notified"\} 0/,
      'as nothing came',
    )
  })

  t.test('advises how many processes a pool could use', async (t) => {
    t.match(await get('/autoscale?pool=evals'), { status: 200, body: { pool: 'evals', slots: 15 } })
    t.equal((await get('/autoscale?pool=nothing')).status, 404)
  })

  t.test('is not ready when it has been told to stop, and still alive', async (t) => {
    stopping = true
    t.match(await get('/readyz'), { status: 503, body: { reasons: ['stopping'] } })
    t.equal((await get('/livez')).status, 200)
    stopping = false
  })
})

t.test('a request for what is no address is answered, and the listener goes on', async (t) => {
  const port = await findFreePort()
  const listener = await startHealth(readConfig({ HEALTH_PORT: String(port) }))
  t.teardown(listener.close)
  for (const target of ['//', 'http://', 'http://[/livez']) {
    const socket = connect(port, '127.0.0.1')
    socket.end(`GET ${target} HTTP/1.1\r\nHost: internal\r\nConnection: close\r\n\r\n`)
    t.match(await text(socket), /^HTTP\/1\.1 404 /, target)
  }
  t.equal((await fetch(`http://127.0.0.1:${port}/livez`)).status, 200)
})

t.test('a run that ignores its signal costs the process its life after a minute', async (t) => {
  const toldAt = new Date()
  const overrun = {
    queue: 'q',
    queueJobId: 'x',
    jobId: undefined,
    reason: 'draining',
    toldAt,
  } as const
  const pools = {
    overruns: () => [overrun],
    queues: () => [],
    running: () => 1,
    stop: async () => 1,
  }
  const at = (ms: number) =>
    workerHealth(
      { pools } as never,
      () => false,
      () => new Date(toldAt.getTime() + ms),
    ).findDeadly()
  t.same(at(59_000), [])
  t.match(at(61_000), [/q .* does not stop/])
})

t.test('metrics are shown while the database is away', async (t) => {
  const url = await createDatabase(t)
  const proxy = await openProxy(t, url)
  const sql = openDatabase(proxy.url)
  t.teardown(() => sql.end({ timeout: 1 }))
  const boss = await openBoss(sql, { log: { warn: () => undefined } })
  const metrics = openMetrics()
  showQueues(metrics, boss, sql)
  const port = await findFreePort()
  const listener = await startHealth(readConfig({ HEALTH_PORT: String(port) }))
  t.teardown(listener.close)
  const scrape = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`, {
      signal: AbortSignal.timeout(60_000),
    })
    return response.text()
  }
  t.match(await scrape(), /process_resident_memory_bytes \d/, 'and before it was ever seen')
  listener.show({ findDeadly: () => [], findUnready: async () => [], metrics })
  t.match(await scrape(), /adl_queue_jobs\{queue="evals\.judge",state="ready"\} 0/)
  await sql`update pgboss.queue set ready_count = 7 where name = 'evals.judge'`
  await pauseQueue(sql, 'evals.judge', null)
  t.match(await scrape(), /adl_queue_held\{queue="evals\.judge"\} 7/, 'what a pause holds back')
  await resumeQueue(sql, 'evals.judge')
  await sql`update pgboss.queue set ready_count = 0 where name = 'evals.judge'`
  t.match(await scrape(), /adl_queue_held\{queue="evals\.judge"\} 0/)
  proxy.setDown(true)
  const [first, second] = [await scrape(), await scrape()]
  for (const text of [first, second]) {
    t.match(text, /process_resident_memory_bytes \d/)
    t.match(text, /adl_queue_jobs\{queue="evals\.judge",state="ready"\} 0/, 'the last figures')
  }
  const ageOf = (text: string) => Number(/^adl_queue_figures_age_seconds (\S+)/m.exec(text)?.[1])
  t.ok(ageOf(second) > ageOf(first) && ageOf(first) > 0, 'with their age')
  proxy.setDown(false)
  await boss.stop({ graceful: false })
})

t.test('storage is neither up nor down before the database has told which it is', async (t) => {
  const metrics = openMetrics()
  const findFault = () => Promise.reject(new Error('the database is away'))
  showStorage(metrics, { findFault } as never)
  t.notMatch(await metrics.metrics(), /^adl_storage_up/m)
})
