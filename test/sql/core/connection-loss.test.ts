import t from 'tap'
import type { Test } from 'tap'
import { setTimeout } from 'node:timers/promises'
import { openDatabase } from '../../../sql/core/db.ts'
import type { Sql, Transaction } from '../../../sql/core/db.ts'
import { openTestDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'

t.test('a lost connection', async (t) => {
  const { url, sql: admin } = await openTestDatabase(t)
  await admin`create table effects (id int not null, step int not null)`

  function openPool(t: Test, max: number) {
    const sql = openDatabase(url, { max, applicationName: t.name.slice(0, 60) })
    t.teardown(() => sql.end({ timeout: 1 }))
    const terminate = () => admin`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = ${t.name.slice(0, 60)} and pid <> pg_backend_pid()`
    return { sql, terminate }
  }

  t.test('in a transaction rejects it, and what it does afterwards runs nowhere', async (t) => {
    const { sql, terminate } = openPool(t, 1)
    let late: Promise<unknown> | undefined
    await t.rejects(
      sql.begin(async (tx: Transaction) => {
        await tx`insert into effects (id, step) values (1, 1)`
        await terminate()
        // The one connection of the pool is in use again, for somebody else's transaction.
        await until(() => sql`select 1`.then(Boolean, () => false))
        late = sql.begin(async (other) => {
          await other`insert into effects (id, step) values (2, 1)`
          await setTimeout(100)
          await other`insert into effects (id, step) values (2, 2)`
        })
        await setTimeout(20)
        await tx`insert into effects (id, step) values (1, 2)`
      }),
      { code: 'CONNECTION_CLOSED' },
    )
    await until(() => late !== undefined)
    await late
    t.same(await rows(admin), ['2.1', '2.2'])
  })

  t.test('of a reserved connection rejects what waits for it and is not handed out', async (t) => {
    const { sql, terminate } = openPool(t, 1)
    const connection = await sql.reserve()
    const waiting = [connection`select pg_sleep(60)`, connection`select 1`]
    const settled = Promise.allSettled(waiting)
    await until(async () => (await terminate()).length > 0)
    t.same(
      (await settled).map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    await t.rejects(connection`select 1`)
    connection.release()
    await t.rejects(connection`select 1`)
    t.same([...(await sql`select 1 as one`)], [{ one: 1 }])
  })

  t.test('costs a pool under load the transactions it hits and nothing else', async (t) => {
    const { sql, terminate } = openPool(t, 3)
    let committed = 0
    let stop = false
    const clients = [3, 4, 5, 6].map(async (client) => {
      for (let n = 0; !stop; n++) {
        await sql
          .begin(async (tx) => {
            await tx`insert into effects (id, step) values (${client * 1e6 + n}, 1)`
            await setTimeout(2)
            await tx`insert into effects (id, step) values (${client * 1e6 + n}, 2)`
          })
          .then(
            () => committed++,
            () => setTimeout(1),
          )
      }
    })
    for (let i = 0; i < 15; i++) {
      const before = committed
      await terminate()
      await until(() => committed > before + 5)
    }
    stop = true
    await Promise.all(clients)
    const halves = await admin`
      select id from effects where id >= 3e6 group by id having count(*) <> 2`
    t.equal(halves.length, 0)
    const [row] = await admin<{ n: number }[]>`
      select count(distinct id)::int as n from effects where id >= 3e6`
    t.ok((row?.n ?? 0) >= committed, 'what was acknowledged is there')
  })
})

async function rows(sql: Sql) {
  const found = await sql<{ id: number; step: number }[]>`
    select id, step from effects order by id, step`
  return found.map(({ id, step }) => `${id}.${step}`)
}
