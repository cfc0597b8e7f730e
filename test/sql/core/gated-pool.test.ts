import t from 'tap'
import { gateOf, openDatabase, ownedBy } from '../../../sql/core/db.ts'
import { createDatabase } from '../../support/database.ts'

t.test('a gated pool', async (t) => {
  const url = await createDatabase(t)
  const sql = openDatabase(url, { max: 2, maxEach: 1 })
  t.teardown(() => sql.end({ timeout: 1 }))
  const own = ownedBy(sql, 'somebody')
  const busy = () => gateOf(sql).state().busy

  t.test('holds a connection as long as a statement runs, well or not', async (t) => {
    const asked = own`select ${own`1 + ${1}`} as two`.then(([row]) => row)
    await t.rejects(sql`select 1 / 0`)
    await t.rejects(sql`select ${'x'}::int`)
    t.same(await asked, { two: 2 })
    t.same(await sql.unsafe('select 1 as one'), [{ one: 1 }])
    t.equal(busy(), 0)
  })

  t.test('holds one for a transaction and not for its statements', async (t) => {
    await own.begin(async (tx) => {
      await Promise.all([tx`select 1`, tx`select 2`])
      t.equal(busy(), 1)
    })
    await t.rejects(own.begin(async (tx) => tx`select 1 / 0`))
    const reserved = await own.reserve()
    await reserved`select 1`
    t.equal(busy(), 1)
    reserved.release()
    t.equal(busy(), 0)
  })

  t.test('holds one until a cursor has ended or is left', async (t) => {
    let rows = 0
    for await (const batch of own`select generate_series(1, 10)`.cursor(3)) {
      rows += batch.length
      t.equal(busy(), 1)
    }
    t.equal(rows, 10)
    for await (const _ of own`select generate_series(1, 10)`.cursor(3)) break
    await own`select 1`
    t.equal(busy(), 0)
  })

  t.test('refuses an owner beyond its share, and serves others meanwhile', async (t) => {
    const sql = openDatabase(url, { max: 2, maxEach: 1, waitMs: 100 })
    t.teardown(() => sql.end({ timeout: 1 }))
    const own = ownedBy(sql, 'somebody')
    const REFUSED = { code: 'NO_CONNECTION' }
    const reserved = await own.reserve()
    await t.rejects(own`select 1`, REFUSED)
    await t.rejects(
      own.begin(async () => undefined),
      REFUSED,
    )
    await ownedBy(sql, 'another')`select 1`
    reserved.release()
    await own`select 1`
    t.equal(gateOf(sql).state().busy, 0)
  })
})
