import t from 'tap'
import type { Test } from 'tap'
import type { Sql } from '../../../sql/core/db.ts'
import { checkSchema, migrate } from '../../../sql/core/migrate.ts'
import { createDatabase } from '../../support/database.ts'
import { holdTransaction, openMigrator, seeCommits } from '../../support/migrators.ts'
import { plantMigrations } from '../../support/planted-migrations.ts'
import { until } from '../../support/until.ts'

t.test(
  'a repeated statement runs in a transaction each time until it touches no row',
  async (t) => {
    const { sql, url, folder } = await open(t)
    const told: string[] = []
    const startedAt = performance.now()
    await migrate(openMigrator(t, url), { folder, report: (sentence) => told.push(sentence) })
    const mostTold = 1 + (performance.now() - startedAt) / 10_000
    t.same(await countFilled(sql), { rows: 5, transactions: 3 })
    t.equal(told[0], '9000-fill.sql runs beside the service; rows so far: 2.')
    t.ok(told.length <= mostTold, 'every ten seconds')
    t.equal(await checkSchema(sql, folder), 'current')
    await sql`update organizations set region = null`
    await migrate(openMigrator(t, url), { folder })
    t.match(await countFilled(sql), { rows: 0 }, 'it is recorded')
  },
)

t.test('a repeated statement that is killed keeps what it did, and goes on', async (t) => {
  const { sql, url, folder } = await open(t)
  const writer = await holdRow(sql, 3)
  const killed = t.rejects(migrate(openMigrator(t, url), { folder }))
  const [waiting = 0] = await until(() => findWaiting(sql))
  t.same(await countFilled(sql), { rows: 2, transactions: 1 })
  t.equal(await checkSchema(sql, folder), 'behind')
  await sql`select pg_terminate_backend(${waiting})`
  await killed
  await writer.end()
  await migrate(openMigrator(t, url), { folder })
  t.same(await countFilled(sql), { rows: 5, transactions: 3 })
  t.equal(await checkSchema(sql, folder), 'current')
})

t.test('of processes that migrate at once one repeats', async (t) => {
  const { sql, url, folder } = await open(t)
  const writer = await holdRow(sql, 3)
  const migrating = [1, 2, 3].map(() => migrate(openMigrator(t, url), { folder }))
  t.equal((await until(() => findWaiting(sql))).length, 1)
  await writer.end()
  await Promise.all(migrating)
  t.same(await countFilled(sql), { rows: 5, transactions: 3 })
  t.equal(await checkSchema(sql, folder), 'current')
})

t.test('the others wait in no transaction, for whose end a build would wait', async (t) => {
  const { sql, url, folder } = await open(t)
  const first = await holdTransaction(sql, 'select pg_advisory_xact_lock(7304514)')
  const migrating = migrate(openMigrator(t, url), { folder })
  // One when it found the migration missing, and one each time that it asked for the lock.
  await seeCommits(sql, 1 + 2)
  await sql.begin((tx) => tx`select pg_advisory_xact_lock(7304511)`)
  await first.end()
  await migrating
  t.equal(await checkSchema(sql, folder), 'current')
})

t.test('a repeated statement that meets a deadlock gives way and is tried again', async (t) => {
  const { sql, url, folder } = await open(t)
  const writer = await holdRow(sql, 4)
  const waits = Promise.withResolvers<string>()
  const migrating = migrate(openMigrator(t, url), {
    folder,
    report: (sentence) => sentence.includes('lock') && waits.resolve(sentence),
  })
  await until(() => findWaiting(sql))
  t.equal((await writer.update(3)).count, 1)
  t.match(await waits.promise, /^9000-fill.sql waits for a lock/)
  await writer.end()
  await migrating
  t.match(await countFilled(sql), { rows: 5 })
})

/** Five organizations, and a release to come that gives each a region, two at a time. */
async function open(t: Test) {
  const url = await createDatabase(t)
  const sql = openMigrator(t, url)
  await sql`alter table organizations add column region text`
  await sql`
    insert into organizations (id, name)
    select ('00000000-0000-7000-8000-00000000000' || n)::uuid, n::text from generate_series(1, 5) n`
  const folder = await plantMigrations(t, {
    '9000-fill.sql': `-- serves: 16, repeated
      with next as (
        select id from organizations where region is null order by id limit 2 for update
      )
      update organizations o set region = 'eu' from next where o.id = next.id;`,
  })
  return { url, sql, folder }
}

/** A transaction that has written to an organization; in a deadlock it is not the one that is ended. */
async function holdRow(sql: Sql, n: number) {
  const writer = await sql.reserve()
  const update = (n: number) =>
    writer`update organizations set name = name where name = ${String(n)}`
  await writer`begin`
  await writer`set local deadlock_timeout = '60s'`
  await update(n)
  return {
    update,
    async end() {
      await writer`rollback`
      writer.release()
    },
  }
}

/** The sessions whose repeated statement waits for a row. */
async function findWaiting(sql: Sql) {
  const rows = await sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query ~ 'repeated'`
  return rows.length > 0 && rows.map(({ pid }) => pid)
}

async function countFilled(sql: Sql) {
  const [row] = await sql`
    select count(*) as rows, count(distinct xmin::text) as transactions
    from organizations where region is not null`
  return row
}
