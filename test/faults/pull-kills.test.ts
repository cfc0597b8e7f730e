import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import t from 'tap'
import { importTracesHandler } from '../../workers/import/import-traces.ts'
import { makePlatformTraces } from '../support/platforms/platform-traces.ts'
import { DOUBLES, openPulls } from '../support/platforms/pulls.ts'
import { randomOf } from '../support/random.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { LONG } from './stage.ts'

const TRACES = makePlatformTraces(LONG ? 96 : 24)
const FAULTS = { tooManyUntil: 1, tooMany: 1, dropped: 2, expired: 2, unavailable: 1 }
/** Kills while pages are read, and while traces are put together. */
const KILLS = LONG ? { reading: 7, assembling: 3 } : { reading: 1, assembling: 1 }
/** About one trace is put together at once. */
const PAGE_BYTES = 2000

t.test('a worker that is killed while it pulls from all platforms at once', async (t) => {
  const service = await openService(t, { env: { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' } })
  const pulls = openPulls(t, service)
  const { sql } = service
  const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31))
  t.comment(`FC_SEED=${seed}`)
  const random = randomOf(seed)

  const files = await service.startWorkers([importTracesHandler])
  const each = await Promise.all(
    Object.entries(DOUBLES).map(async ([name, kind]) => {
      const faults = { ...FAULTS, ...kind.faults }
      const options = { faults, seed, repeats: true, mostRows: 20 }
      const double = await kind.start(t, TRACES, options)
      const expected = await pulls.stateOfFile(kind, double)
      return { name, double, expected, pulled: await pulls.pull(kind, double) }
    }),
  )
  await files.stop()
  pulls.hurry()
  let worker = pulls.startProcess(PAGE_BYTES)

  const countCalls = () => each.reduce((sum, { double }) => sum + double.calls.length, 0)
  async function countImported() {
    const [row] = await sql<[{ n: number }]>`
      select sum(imported_count)::int as n from imports where connection is not null`
    return row.n
  }
  /**
   * Kills the worker once it has come some way further, and lets another one take its jobs.
   * @param least of the steps before the kill, so that most pulls store a page in between: a job that is
   * lost too often without any progress fails
   */
  async function killAfter(count: () => number | Promise<number>, least: number, most: number) {
    const target = (await count()) + least + random() * (most - least)
    await until(async () => (await count()) > target)
    worker.kill('SIGKILL')
    await once(worker, 'exit')
    // A minute later.
    await sql`
      update pgboss.job set state = 'retry', retry_count = retry_count + 1, start_after = now()
      where state = 'active' and name = 'import.pull'`
    worker = pulls.startProcess(PAGE_BYTES)
  }
  for (let i = 0; i < KILLS.reading; i++) await killAfter(countCalls, 20, 60)
  for (let i = 0; i < KILLS.assembling; i++) await killAfter(countImported, 0, TRACES.length)

  for (const { name, double, expected, pulled } of each) {
    const shown = await pulled.ended()
    t.match(shown, { error: null, imported_count: TRACES.length, error_count: 0 }, name)
    const state = await pulls.stateOf(pulled)
    t.same(state.traces, expected.traces, `${name}: no trace is lost, and none differs`)
    t.same(state.scores, expected.scores)
    t.same(state.judged, expected.judged)
    t.equal(double.faultsLeft(), 0)
    const [usage] = await sql`
      select sum(current)::int as used from usage
      where org_id = ${pulled.orgId} and metric = 'traces_ingested'`
    t.equal(usage?.['used'], TRACES.length, `${name}: each trace is charged once`)
  }
  t.equal(await pulls.countStaged(), 0)
})
