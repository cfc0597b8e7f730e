import t from 'tap'
import { gateOf, openDatabase, unprepared, withSettings } from '../../../sql/core/db.ts'
import type { DatabaseOptions, Sql } from '../../../sql/core/db.ts'
import { fallBack } from '../../../sql/core/fall-back.ts'
import { createDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import { openProxy } from '../../support/proxy.ts'

t.test('of two pools', async (t) => {
  const url = await createDatabase(t)
  const second = openDatabase(url, { applicationName: 'second' })
  t.teardown(() => second.end({ timeout: 1 }))
  await second`create table numbers (n int)`
  await second`insert into numbers values (1), (2)`

  async function open(address = url, options: DatabaseOptions = {}) {
    const first = openDatabase(address, { applicationName: 'first', max: 4, ...options })
    t.teardown(() => first.end({ timeout: 0 }))
    const gone = new AbortController()
    const errors: unknown[] = []
    const onFall = (error: unknown) => errors.push(error)
    const { sql } = fallBack({ sql: first }, { sql: second }, { signal: gone.signal, onFall })
    return { first, sql, gone, errors }
  }
  const nameOf = async (sql: Sql) =>
    (await sql`select current_setting('application_name') as name`)[0]
  /** A statement that only the second pool's server answers. */
  const onlySecond = (sql: Sql) => sql`
    select 10 / case current_setting('application_name') when 'second' then n else 0 end as n
    from numbers where true ${sql`and n > ${0}`} order by numbers.n`

  await t.test('the first is asked as long as it answers', async (t) => {
    const { sql, errors } = await open()
    t.same(await nameOf(sql), { name: 'first' })
    t.same(await sql.begin((tx) => tx`select 1 as n`), [{ n: 1 }])
    t.same(errors, [])
  })

  await t.test('a statement that fails is asked of the second, with all that follow', async (t) => {
    const { sql, errors } = await open()
    t.same(await onlySecond(sql), [{ n: 10 }, { n: 5 }])
    t.same(await nameOf(sql), { name: 'second' })
    t.same(await sql.begin((tx) => nameOf(tx as unknown as Sql)), { name: 'second' })
    t.match(errors, [{ code: '22012' }])
    t.equal(errors.length, 1)
  })

  await t.test('it is asked in the same way', async (t) => {
    const { sql } = await open()
    t.same(await onlySecond(sql).values(), [[10], [5]])
    const { sql: other } = await open()
    t.same(await unprepared(onlySecond(other)), [{ n: 10 }, { n: 5 }])
    const { sql: third } = await open()
    t.same(
      await third.unsafe(`select 1 / (current_setting('application_name') = 'second')::int as n`),
      [{ n: 1 }],
    )
  })

  await t.test('a limit that is met is not met twice', async (t) => {
    const limits = { statementTimeoutMs: 100, max: 1, waitMs: 1 }
    const { first, sql, errors } = await open(url, limits)
    const sleep = (tx: unknown) => (tx as Sql)`select pg_sleep(60)`
    await t.rejects(sleep(sql), { code: '57014' })
    await t.rejects(withSettings(sql, { statement_timeout: '1' }, sleep), { code: '57014' })
    const connection = await first.reserve()
    await t.rejects(nameOf(sql), { code: 'NO_CONNECTION' })
    await t.rejects(
      sql.begin((tx) => tx`select 1`),
      { code: 'NO_CONNECTION' },
    )
    connection.release()
    t.same(errors, [])
    t.same(await until(() => nameOf(sql).catch(() => undefined)), { name: 'first' })
  })

  await t.test('a transaction that fails is begun again there', async (t) => {
    const { sql, errors } = await open()
    const run = (tx: unknown) => onlySecond(tx as Sql)
    t.same(await withSettings(sql, { work_mem: '1MB' }, run), [{ n: 10 }, { n: 5 }])
    t.equal(errors.length, 1)
  })

  await t.test('an error of the work is not one of the server', async (t) => {
    const { sql, errors } = await open()
    await t.rejects(
      sql.begin(() => Promise.reject(new Error('of the work'))),
      { message: 'of the work' },
    )
    t.same(errors, [])
  })

  await t.test('an error of both is that of the second', async (t) => {
    const { sql } = await open()
    await t.rejects(sql`select nothing from numbers`, { code: '42703' })
  })

  await t.test('statements at once end on both', async (t) => {
    const { sql, errors } = await open()
    const rows = await Promise.all([onlySecond(sql), nameOf(sql), onlySecond(sql)])
    t.same(rows[0], rows[2])
    t.equal(errors.length, 1)
  })

  await t.test('a server that is not there is left at once', async (t) => {
    const proxy = await openProxy(t, url)
    const { sql } = await open(proxy.url)
    t.same(await nameOf(sql), { name: 'first' })
    proxy.setDown(true)
    t.same(await nameOf(sql), { name: 'second' })
    const { sql: other } = await open(Object.assign(new URL(url), { port: '1' }).href)
    t.same(await other.begin((tx) => nameOf(tx as unknown as Sql)), { name: 'second' })
  })

  await t.test('a server that hangs is left when its connections are given up', async (t) => {
    const proxy = await openProxy(t, url)
    const { sql, first, gone } = await open(proxy.url)
    await Promise.all([1, 2, 3].map(() => first`select pg_sleep(0.05)`))
    t.ok(proxy.swallow('first') >= 2)
    const names = [nameOf(sql), sql.begin((tx) => nameOf(tx as unknown as Sql))]
    await until(() => gateOf(first).state().busy === 2)
    gone.abort()
    t.same(await Promise.all(names), [{ name: 'second' }, { name: 'second' }])
  })
})
