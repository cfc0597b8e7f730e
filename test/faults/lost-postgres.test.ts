import t from 'tap'
import type { Test } from 'tap'
import { setTimeout } from 'node:timers/promises'
import { createApi } from '../../api/server.ts'
import { readConfig } from '../../ops/config.ts'
import { openApiContext } from '../../ops/api-context.ts'
import { migrateAll } from '../../ops/migrate.ts'
import type { Sql } from '../../sql/core/db.ts'
import { launch } from '../support/program.ts'
import { makeTestKey } from '../support/service.ts'
import { until } from '../support/until.ts'
import { openCluster } from './cluster.ts'
import { checkInvariants } from './invariants.ts'
import { effectJob, stepsJob } from './jobs.ts'
import { LONG, openStage } from './stage.ts'
import { checkPace } from './pace.ts'
import { findFreePort } from '../../ops/free-port.ts'

t.jobs = 2
const silent = { warn: () => undefined }

t.test('F5: the database is killed and started again', { buffered: true }, async (t) => {
  const cluster = await openCluster(t)
  await migrateAll(cluster.url, silent)
  const stage = await openStage(t, cluster.url)
  const answers = await askApi(t, stage.sql, stage.org.orgId, cluster.url)
  await stage.startWorker([effectJob, stepsJob], { supervise: true })
  await stage.startWorker([effectJob, stepsJob])
  const load = stage.load(20, (n) => (n % 5 === 0 ? stepsJob : effectJob))

  const recoveries: number[] = []
  for (let round = 0; round < (LONG ? 5 : 1); round++) {
    await setTimeout(1500)
    await cluster.kill()
    await setTimeout(1500)
    await cluster.start()
    const upAt = performance.now()
    const [up] = await until(() => stage.sql`select clock_timestamp() as at`.catch(() => undefined))
    await until(async () => {
      const ended = await stage.sql`select from jobs where finished_at > ${up?.['at']} limit 1`
      return ended.length > 0
    })
    recoveries.push((performance.now() - upAt) / 1000)
  }
  const { accepted } = await load.stop()
  await stage.allEnded()
  const slowest = Math.max(...recoveries)
  checkPace(t, slowest, 3, 'work goes on after it is up')
  t.same(stage.fallen(), [], 'no process ended of it')
  await checkInvariants(t, stage.sql, accepted)
  const statuses = await answers.stop()
  t.ok(statuses.get(503), `${statuses.get(503)} requests were answered with 503`)
  t.same(
    [...statuses.keys()].sort((a, b) => a - b),
    [200, 503],
    'I4: and none with another error',
  )
})

t.test('F6: the database is down when processes start', { buffered: true }, async (t) => {
  const cluster = await openCluster(t)
  await migrateAll(cluster.url, silent)
  await cluster.stop()
  const env = { DATABASE_URL: cluster.url, DATA_DIR: t.testdir() }
  const processes = await Promise.all(
    ['start-api.ts', 'start-workers.ts'].map((script) => launchProcess(t, script, env)),
  )
  const everyOne = async (path: string, status: number) => {
    const found = await Promise.all(processes.map(({ ask }) => ask(path)))
    return found.every((answer) => answer === status)
  }
  await until(() => everyOne('/livez', 200))
  const end = performance.now() + (LONG ? 30_000 : 4000)
  while (performance.now() < end) {
    await setTimeout(500)
    if (!(await everyOne('/livez', 200)) || !(await everyOne('/readyz', 503))) {
      t.fail('alive, and not ready')
    }
  }
  t.notOk(
    processes.some(({ isOver }) => isOver()),
    'both wait',
  )
  await cluster.start()
  const upAt = performance.now()
  await until(() => everyOne('/readyz', 200))
  t.pass(`ready ${((performance.now() - upAt) / 1000).toFixed(1)} s after the database`)
})

/** Asks an API of its own all the time, and counts what it answers. */
async function askApi(t: Test, sql: Sql, orgId: string, url: string) {
  const { raw } = await makeTestKey(sql, orgId, { scope: 'global', permissions: 'read' })
  const config = readConfig({ DATA_DIR: t.testdir(), LOG_LEVEL: 'silent' })
  const opened = await openApiContext(config, url)
  const server = await createApi(opened.context)
  const statuses = new Map<number, number>()
  let isAsking = true
  const asking = (async () => {
    while (isAsking) {
      const headers = { authorization: `Bearer ${raw}` }
      const { statusCode } = await server.inject({ url: '/api/v1/jobs', headers })
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
      await setTimeout(20)
    }
  })()
  let stopping: Promise<Map<number, number>> | undefined
  const stop = () => (stopping ??= end())
  async function end() {
    isAsking = false
    await asking
    await server.stop()
    await opened.close()
    return statuses
  }
  t.teardown(stop)
  return { stop }
}

/** A process of the service; `ask` gives the status its internal listener answers with, 0 for none. */
async function launchProcess(t: Test, script: string, env: Record<string, string>) {
  const HEALTH_PORT = String(await findFreePort())
  const launched = launch(t, script, { ...env, HEALTH_PORT })
  let isOver = false
  void launched.ended.then(() => (isOver = true))
  const ask = (path: string) =>
    fetch(`http://127.0.0.1:${HEALTH_PORT}${path}`).then(
      ({ status }) => status,
      () => 0,
    )
  return { isOver: () => isOver, ask }
}
