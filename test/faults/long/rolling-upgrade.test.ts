import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { Test } from 'tap'
import postgres from 'postgres'
import { makeKey } from '../../../jobs/rules/access/api-key.ts'
import { openDatabase } from '../../../sql/core/db.ts'
import type { Sql } from '../../../sql/core/db.ts'
import { checkSchema } from '../../../sql/core/migrate.ts'
import { serverUrl } from '../../support/cluster.ts'
import { checkOutPreviousRelease, noPreviousRelease } from '../../support/previous-release.ts'
import { launch } from '../../support/program.ts'
import { until } from '../../support/until.ts'
import { openFleet } from '../fleet.ts'
import { startTraffic } from '../traffic.ts'
import type { Traffic } from '../traffic.ts'

const NEW = '.'
const ROUNDS = 2
/** Requests that are answered between two steps. */
const SOME = 150
/** Traces that are read at a time, of those that are stored. */
const SAMPLES = 20
/** The balancer learns from /readyz alone that a process of the new release stops. */
const DELAY = { DRAIN_DELAY_SECONDS: '2' }

t.test('F22: a release is rolled out and back', { skip: noPreviousRelease }, async (t) => {
  const old = await checkOutPreviousRelease(t)
  const url = await createEmptyDatabase(t)
  const fleet = await openFleet(t, url)
  const sql = openDatabase(url)
  t.teardown(() => sql.end({ timeout: 1 }))

  const INIT_API_KEY = makeKey('svc_', randomBytes(64))
  let [api, workers] = await Promise.all([
    fleet.start(old, 'start-api.ts', { INIT_API_KEY }),
    fleet.start(old, 'start-workers.ts'),
  ])
  t.equal(await checkSchema(sql), 'behind')
  await sql`update organizations set rate_per_minute = 1000000, rate_burst = 1000000`
  const traffic = await startTraffic(t, fleet, INIT_API_KEY)
  await traffic.pass(SOME)

  for (let round = 0; round < ROUNDS; round++) {
    const second = await fleet.start(old, 'start-api.ts')
    const migrate = launch(t, 'admin.ts', { DATABASE_URL: url }, ['migrate'], NEW)
    t.equal(await migrate.ended, 0, 'the new release migrates')
    t.equal(await checkSchema(sql), 'current')
    await traffic.pass(SOME)

    const newApi = await fleet.start(NEW, 'start-api.ts', DELAY)
    t.equal(await api.remove(), 0, 'an old API stops')
    const newWorkers = await fleet.start(NEW, 'start-workers.ts')
    await traffic.pass(SOME)
    t.equal(await workers.stop(), 0, 'the old workers stop')
    t.equal(await second.remove(), 0, 'the last old API stops')
    await traffic.pass(SOME)
    await checkAnswers(t, sql, traffic, 'the new release')

    api = await fleet.start(old, 'start-api.ts')
    t.equal(await newApi.stop(), 0, 'the new API stops')
    workers = await fleet.start(old, 'start-workers.ts')
    t.equal(await newWorkers.stop(), 0, 'the new workers stop')
    await traffic.pass(SOME)
    await checkAnswers(t, sql, traffic, 'the release before')
  }

  await traffic.stop()
  await until(async () => (await sql`select from jobs where finished_at is null`).length === 0)
  await checkCounts(t, traffic)
  t.same(traffic.failures, [], `none of ${traffic.counts().requests} requests failed`)
  t.same(fleet.unready, [], 'no process was unready')
  t.same(await sql`select kind, error from jobs where state <> 'succeeded'`, [], 'no job failed')
  t.same(await sql`select name, output from pgboss.job where state = 'failed'`, [])
  const kinds = await sql`select distinct kind from jobs`
  t.ok(kinds.length >= 2, `${kinds.map(({ kind }) => kind).join(', ')} ran`)
})

/** Each trace that was stored by now is judged, and read as it was sent, whoever stored it. */
async function checkAnswers(t: Test, sql: Sql, { get, stored }: Traffic, who: string) {
  const ids = [...stored]
  await until(async () => {
    const unjudged = await sql`
      select from unnest(${ids}::text[]) id
      where not exists (select from verdicts where trace_id = id) limit 1`
    return unjudged.length === 0
  })
  const step = Math.ceil(ids.length / SAMPLES)
  for (const id of ids.filter((_, i) => i % step === 0)) {
    const { user_input_preview: preview } = await get(`/traces/${id}`)
    const { verdict } = await get(`/traces/${id}/decision`)
    const { quality_scores: scores } = await get(`/traces/${id}/eval-scores`)
    t.match(
      { preview, verdict, scores },
      { preview: `where is order ${id.slice(1)}`, verdict: 'keep', scores: [{}] },
      `${who} serves trace ${id}`,
    )
  }
}

/** What is counted is what was stored, by each release a part. */
async function checkCounts(t: Test, { get, counts }: Traffic) {
  const { stored } = counts()
  const { metrics } = await get('/usage')
  t.match(metrics, [{ metric: 'traces_ingested', current: stored }])
  await until(async () => {
    const { groups } = await get('/eval-scores/aggregate?name=solved')
    return (groups as { count: number }[])[0]?.count === stored
  })
}

async function createEmptyDatabase(t: Test) {
  const server = await serverUrl()
  const admin = postgres(server, { max: 1, onnotice: () => undefined })
  const name = `adl_test_${process.pid}_rolling`
  await admin.unsafe(`create database ${name}`)
  t.teardown(async () => {
    await admin.unsafe(`drop database ${name} with (force)`)
    await admin.end()
  })
  return Object.assign(new URL(server), { pathname: `/${name}` }).href
}
