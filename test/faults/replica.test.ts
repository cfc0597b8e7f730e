import t from 'tap'
import type { Test } from 'tap'
import { migrateAll } from '../../ops/migrate.ts'
import { showReplica } from '../../ops/api-metrics.ts'
import { openMetrics, showPools } from '../../ops/metrics.ts'
import { examineReplica, replicaPools, warnOfReplica } from '../../ops/replica.ts'
import { openDatabase } from '../../sql/core/db.ts'
import { judgeTracesHandler } from '../../workers/evals/judge-traces.ts'
import { openProxy } from '../support/proxy.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { LONG } from './stage.ts'
import { openPrimary, openStandbyOf } from './standby.ts'

const CLIENTS = 6
const ROUNDS = LONG ? 60 : 3

t.test('two APIs with a replica', async (t) => {
  const primary = await openPrimary(t)
  await migrateAll(primary.url, { warn: () => undefined })
  const replica = await openStandbyOf(t, primary)
  const proxy = await openProxy(t, replica.url)
  const env = { DATABASE_READ_URL: proxy.url }
  const apis = [
    await openService(t, { url: primary.url, env }),
    await openService(t, { url: primary.url, env }),
  ] as const
  const [first] = apis
  await first.startWorkers([judgeTracesHandler])
  const org = await first.makeOrganization()
  const [here, there] = apis.map((api) => api.client(org.key)) as [Client, Client]
  const reads = () => {
    const [a, b] = apis.map(({ context }) => context.replica?.reads ?? NONE) as [Reads, Reads]
    return {
      replica: a.replica + b.replica,
      fallen: a.fallen + b.fallen,
      primary: a.primary + b.primary,
    }
  }
  /** Resolves once a list is read from the replica, by each of the APIs. */
  const untilRead = () =>
    Promise.all(
      apis.map(({ context }, i) =>
        until(async () => {
          const before = context.replica?.reads.replica ?? 0
          await (i === 0 ? here : there).get('/traces')
          return (context.replica?.reads.replica ?? 0) > before
        }),
      ),
    )
  const metrics = openMetrics()
  showPools(metrics, {}, () => replicaPools(first.context.replica))
  if (first.context.replica) showReplica(metrics, first.context.replica)
  let made = 0

  /** Clients that write over one API and list over the other, some of whom know the header. */
  async function drive(t: Test, rounds = ROUNDS) {
    const clients = Array.from({ length: CLIENTS }, async (_, n) => {
      const knows = n % 2 === 0
      let position = '0/0'
      async function ask(api: Client, method: string, path: string, body?: object) {
        const answer = await api.call(
          method,
          path,
          body,
          knows ? { 'read-position': position } : {},
        )
        if (answer.status >= 400) t.fail(`${method} ${path}: ${JSON.stringify(answer.body)}`)
        position = answer.headers['read-position'] ?? position
        return answer.body
      }
      for (let round = 0; round < rounds; round++) {
        const [writer, reader] = (n + round) % 3 === 0 ? [there, here] : [here, there]
        const trace_id = `trace-${++made}`
        const session_id = `session-${n}-${made}`
        await ask(writer, 'POST', '/traces', { ...TRACE, trace_id, session_id })
        const listed = await ask(reader, 'GET', `/traces?session_id=${session_id}`)
        t.equal(listed.traces.length, 1, 'what was written is listed')
        const verdict = await until(async () => {
          const { body } = await writer.get(`/traces/${trace_id}/decision`)
          return body.verdict as string
        })
        if (knows) await ask(writer, 'GET', `/traces/${trace_id}`)
        const judged = await ask(
          reader,
          'GET',
          `/traces?session_id=${session_id}&verdict=${verdict}`,
        )
        t.equal(judged.traces.length, 1, 'and what a worker has made of it')
      }
    })
    await Promise.all(clients)
  }

  await t.test('reads lists from it once it has caught up', async (t) => {
    // On a busy machine a look at it may take too long, and the reads under way end on the primary.
    await until(async () => {
      await untilRead()
      const before = reads()
      await drive(t)
      const now = reads()
      return now.replica > before.replica && now.fallen === before.fallen
    })
    const watched = openDatabase(replica.url)
    const found = await watched`
      select from pg_stat_activity where application_name = 'api replica read'`
    await watched.end()
    t.ok(found.length > 0)
    await until(async () => (await warnOfReplica(first.context.replica)).length === 0)
    const text = await metrics.metrics()
    t.match(text, /^adl_replica_reads_total\{by="replica"\} [1-9]/m)
    t.match(text, /^adl_replica_up 1$/m)
    t.match(text, /^adl_replica_lag_seconds [0-9.]+$/m)
    t.match(text, /^adl_database_connections\{pool="replica read",state="free"\} \d/m)
    t.equal(await examineReplica(first.config, first.sql, 1), undefined)
    t.match(await examineReplica(first.config, first.sql, 100), /1300 connections/)
  })

  await t.test('no client misses its own write while the replica lags', async (t) => {
    await replica.lag('1h')
    const before = reads()
    await drive(t)
    const { replica: served } = reads()
    t.ok(reads().primary > before.primary)
    t.comment(`${served - before.replica} of the lists were read from the replica`)

    // Who asks for less is answered by the replica.
    await until(async () => {
      t.equal((await here.get('/traces', { 'read-position': '0/0' })).status, 200)
      return reads().replica > served
    })
    const { replica: now } = reads()
    for (const position of ['FFFFFFFF/FFFFFFFF', 'nonsense', '']) {
      t.equal((await here.get('/traces', { 'read-position': position })).status, 200)
    }
    t.equal(reads().replica, now, 'a position that is none, or not there yet, is the present one')
  })

  await t.test('no request fails while the replica is killed and started again', async (t) => {
    await replica.lag('0')
    await untilRead()
    let isOver = false
    const driving = (async () => {
      while (!isOver) await drive(t, 1)
    })()
    for (let kills = 0; kills < (LONG ? 10 : 1); kills++) {
      await replica.kill()
      await until(() =>
        apis.some(
          ({ context }) => context.replica?.standby.state().complaint === 'does not answer',
        ),
      )
      await replica.stop()
      await replica.start()
      await untilRead()
    }
    isOver = true
    await driving
    t.pass()
  })

  await t.test('no request waits for a replica that hangs', async (t) => {
    await untilRead()
    const swallowed = ['read', 'aggregate', 'watch'].map((pool) =>
      proxy.swallow(`api replica ${pool}`),
    )
    t.ok(Math.max(...swallowed) > 0)
    const less = await here.get('/traces', { 'read-position': '0/0' })
    t.equal(less.status, 200)
    await drive(t, 1)
    await untilRead()
  })

  await t.test('a replica that was promoted is read no more', async (t) => {
    await replica.promote()
    await until(async () => {
      await here.get('/traces')
      return first.context.replica?.standby.state().complaint === 'is not a standby'
    })
    const before = reads()
    await drive(t, 1)
    t.equal(reads().replica, before.replica)
    t.match(await metrics.metrics(), /^adl_replica_up 0$/m)
    // On a busy machine it may not answer in time, and says so then.
    await until(async () => {
      const [warning] = await warnOfReplica(first.context.replica)
      return warning?.includes('is not a standby; the primary is read')
    })
    t.match(await examineReplica(first.config, first.sql, 1), /is not a standby: it is not read/)
    t.equal((await first.server.inject('/readyz')).statusCode, 200)
  })
})

const TRACE = { agent_name: 'agent', final_output_preview: 'yes' }
const NONE = { replica: 0, fallen: 0, primary: 0 }
type Reads = typeof NONE
type Client = ReturnType<Awaited<ReturnType<typeof openService>>['client']>
