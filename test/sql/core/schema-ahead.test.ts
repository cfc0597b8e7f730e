import t from 'tap'
import { keepCurrent, migrateAll, prepareDatabase } from '../../../ops/migrate.ts'
import { checkSchema, migrate, SchemaTooNew } from '../../../sql/core/migrate.ts'
import { listMigrations } from '../../../sql/core/migration-files.ts'
import { openTestDatabase } from '../../support/database.ts'
import { plantMigrations } from '../../support/planted-migrations.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'

const silent = { warn: () => undefined }

t.test('a schema that is ahead and serves this release is left as it is', async (t) => {
  const { url, sql } = await openTestDatabase(t)
  const ours = Math.max(...(await listMigrations()).map(({ number }) => number))
  const folder = await plantMigrations(t, {
    '9000-next.sql': `-- serves: ${ours}\ncreate table next ();`,
  })
  t.equal(await checkSchema(sql, folder), 'behind')
  await migrate(sql, { folder })
  t.equal(await checkSchema(sql, folder), 'current')
  t.equal(await checkSchema(sql), 'ahead')

  await sql`update pgboss.schedule set cron = '1 2 3 4 5'`
  const told: string[] = []
  const log = { warn: (_: object, sentence: string) => told.push(sentence) }
  await prepareDatabase(url, log, new AbortController().signal)
  t.match(told, [/newer release and serves this one/])
  await migrateAll(url, silent)
  const crons = await sql`select distinct cron from pgboss.schedule`
  t.same(crons, [{ cron: '1 2 3 4 5' }], 'and so are the queues')
})

t.test('what an older release declares of the queues is declared anew', async (t) => {
  const { url, sql } = await openTestDatabase(t)
  const end = keepCurrent({ sql, url, log: silent }, 20)
  t.teardown(() => end(5000))
  const look = () => sql`
    select cron, retry_limit from pgboss.queue q join pgboss.schedule using (name)
    where name = 'maint.retention'`
  const declared = await look()
  await sql`update pgboss.queue set retry_limit = 9 where name = 'maint.retention'`
  await sql`delete from pgboss.schedule where name = 'maint.retention'`
  t.same(await until(async () => (await look())[0]), declared[0])
})

t.test('a process that stops does not wait for a migration that goes on', async (t) => {
  const { url, sql } = await openTestDatabase(t)
  await sql`update pgboss.queue set retry_limit = 9 where name = 'maint.retention'`
  const end = await sql.begin(async (tx) => {
    await tx`lock table pgboss.queue in exclusive mode`
    const end = keepCurrent({ sql, url, log: silent }, 20)
    await until(() => countLockWaits(sql, { table: 'pgboss.queue' }))
    await end(10)
    t.equal(await countLockWaits(sql, { table: 'pgboss.queue' }), 1, 'it goes on')
    return end
  })
  await end(600_000)
  const declared = () => sql`
    select 1 from pgboss.queue where name = 'maint.retention' and retry_limit < 9`
  t.equal((await declared()).length, 1)
})

t.test('a schema that does not serve this release is refused in a sentence', async (t) => {
  const { sql } = await openTestDatabase(t)
  const folder = await plantMigrations(t, { '9000-next.sql': 'create table next ();' })
  await migrate(sql, { folder })
  t.equal(await checkSchema(sql, folder), 'current')
  const sentence =
    /^The database has schema 9000, made by a newer version .* know schema 9000; .* Start the newer version\.$/
  for (const look of [migrate, checkSchema]) {
    await t.rejects(
      async () => {
        await look(sql)
      },
      { constructor: SchemaTooNew, message: sentence },
    )
  }
})

t.test('releases up to schema 16 go on until a migration does not serve them', async (t) => {
  const { sql } = await openTestDatabase(t)
  /** All that those releases look at. */
  const findGreatest = async () => {
    const [row] = await sql<{ number: number }[]>`
      select max(number) as number from schema_migrations`
    return row?.number
  }
  const serving = await plantMigrations(t, {
    '8000-next.sql': '-- serves: 16\ncreate table next ();',
  })
  await migrate(sql, { folder: serving })
  t.not(await findGreatest(), 8000)
  const leaving = await plantMigrations(t, {
    '8000-next.sql': '-- serves: 16\ncreate table next ();',
    '9000-after-next.sql': '-- serves: 17\ndrop table next;',
  })
  await migrate(sql, { folder: leaving })
  t.equal(await findGreatest(), 9000)
})

t.test('a migration that waits for a table lets others pass', async (t) => {
  const { sql } = await openTestDatabase(t)
  const folder = await plantMigrations(t, {
    '9000-next.sql': '-- serves: 16\nalter table organizations add column next int;',
  })
  const reader = await sql.reserve()
  await reader`begin`
  await reader`select from organizations`
  const waits = Promise.withResolvers<string>()
  const migrating = migrate(sql, { folder, report: waits.resolve })
  t.match(await waits.promise, /^9000-next.sql waits for a lock/)
  t.same(await sql`select from organizations`, [], 'a second reader')
  await reader`commit`
  reader.release()
  await migrating
  t.equal(await checkSchema(sql, folder), 'current')
})
