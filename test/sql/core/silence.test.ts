import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { openDatabase } from '../../../sql/core/db.ts'
import { createDatabase } from '../../support/database.ts'
import { openProxy } from '../../support/proxy.ts'
import { until } from '../../support/until.ts'

t.test('a connection whose server says nothing any more', async (t) => {
  const proxy = await openProxy(t, await createDatabase(t))
  const sql = openDatabase(proxy.url, {
    max: 1,
    silenceMs: 1000,
    statementTimeoutMs: 0,
    applicationName: 'patient',
  })
  t.teardown(() => sql.end({ timeout: 1 }))

  await t.test('is given up, and another one takes its place', async (t) => {
    await sql`select 1`
    t.equal(proxy.swallow('patient'), 1)
    await t.rejects(sql`select 1`, { code: 'CONNECTION_CLOSED' })
    t.same([...(await sql`select 2 as n`)], [{ n: 2 }])
  })

  await t.test('does nothing any more where it is there after all', async (t) => {
    await sql`select 1`
    const asleep = 'select pg_sleep(1000)'
    await t.rejects(sql.unsafe(asleep), { code: 'CONNECTION_CLOSED' })
    await until(async () => {
      const [left] = await sql`
        select from pg_stat_activity where datname = current_database() and query = ${asleep}`
      return !left
    })
  })

  await t.test('is kept while it owes no answer', async (t) => {
    const [before] = await sql`select pg_backend_pid() as pid`
    await setTimeout(1500)
    for await (const [row] of sql`select pg_backend_pid() as pid from generate_series(1, 2)`.cursor(
      1,
    )) {
      t.same(row, before, 'nor while a reader is slow')
      await setTimeout(1500)
    }
  })
})
