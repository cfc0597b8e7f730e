import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { Test } from 'tap'
import { readConfig } from '../../../ops/config.ts'
import { examine } from '../../../ops/doctor.ts'
import { checkSchema, listWaiting, migrate } from '../../../sql/core/migrate.ts'
import { createDatabase } from '../../support/database.ts'
import { openMigrator } from '../../support/migrators.ts'
import { plantMigrations } from '../../support/planted-migrations.ts'

t.test('a database that nobody uses yet is contracted at once', async (t) => {
  const { sql, folder, findTables } = await open(t)
  await migrate(sql, { folder })
  t.same(await findTables(), { old: false, next: true })
  t.same(await listWaiting(sql, folder), [])
  t.equal(await checkSchema(sql, folder), 'current')
})

t.test('a database with an organization is contracted when that is asked for', async (t) => {
  const { sql, folder, use, findTables } = await open(t)
  await use()
  await migrate(sql, { folder })
  t.same(await findTables(), { old: true, next: true }, 'later migrations do not wait for it')
  t.same(await listWaiting(sql, folder), ['9001-drop.sql'])
  t.equal(await checkSchema(sql, folder), 'current')
  t.equal(await checkSchema(sql), 'ahead', 'the release before is served')

  await migrate(sql, { folder })
  t.same(await findTables(), { old: true, next: true })
  await migrate(sql, { folder, finish: true })
  t.same(await findTables(), { old: false, next: true })
  t.same(await listWaiting(sql, folder), [])
  t.equal(await checkSchema(sql, folder), 'current')
  await t.rejects(checkSchema(sql), { message: /made by a newer version/ })
  await migrate(sql, { folder, finish: true })
})

t.test('a release that finishes at once applies its migrations in their order', async (t) => {
  const { sql, folder, use } = await open(t)
  await use()
  await migrate(sql, { folder, finish: true })
  const applied = await sql<{ number: number }[]>`
    select number from applied_migrations where number > 8999 order by applied_at`
  t.same(
    applied.map(({ number }) => number),
    [9000, 9001, 9002],
  )
})

t.test('processes that finish and that do not may migrate at once', async (t) => {
  const { url, sql, folder, use, findTables } = await open(t)
  await use()
  const finishing = [true, false, true, false]
  await Promise.all(finishing.map((finish) => migrate(openMigrator(t, url), { folder, finish })))
  t.same(await findTables(), { old: false, next: true })
  t.equal(await checkSchema(sql, folder), 'current')
})

t.test('a release does not finish what a newer one has made', async (t) => {
  const { sql, use } = await open(t)
  await use()
  const more = { '9003-more.sql': '-- serves: 16\nselect 1;' }
  await migrate(sql, { folder: await plantMigrations(t, { ...PLANTED, ...more }) })
  const folder = await plantMigrations(t, PLANTED)
  await migrate(sql, { folder, finish: true })
  t.equal(await checkSchema(sql, folder), 'ahead')
  t.same(await listWaiting(sql, folder), ['9001-drop.sql'])
})

t.test('doctor says what waits, which is no fault', async (t) => {
  const { url, sql, folder, use } = await open(t)
  await use()
  await migrate(sql, { folder })
  const config = readConfig({ DATA_DIR: fileURLToPath(new URL('data', folder)) })
  const look = async () => {
    const { checks } = await examine(config, sql, url, folder)
    return checks.find(({ name }) => name === 'schema')
  }
  t.match(await look(), {
    ok: true,
    warning: /release before is gone: 9001-drop.sql. Then run: .*admin.ts migrate --finish$/,
  })
  await migrate(sql, { folder, finish: true })
  t.same(await look(), { name: 'schema', ok: true })
})

/** A release to come that takes a table away, and adds one after that. */
const PLANTED = {
  '9000-old.sql': '-- serves: 16\ncreate table old ();',
  '9001-drop.sql': '-- serves: 9000, contracting\ndrop table old;',
  '9002-next.sql': '-- serves: 16\ncreate table next ();',
}

async function open(t: Test) {
  const url = await createDatabase(t)
  const sql = openMigrator(t, url)
  return {
    url,
    sql,
    folder: await plantMigrations(t, PLANTED),
    use: () => sql`
      insert into organizations (id, name) values ('00000000-0000-7000-8000-000000000001', 'o')`,
    async findTables() {
      const [row] = await sql`
        select to_regclass('old') is not null as old, to_regclass('next') is not null as next`
      return row
    },
  }
}
