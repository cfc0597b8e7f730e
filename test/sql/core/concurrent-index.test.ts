import t from 'tap'
import type { Test } from 'tap'
import type { Sql } from '../../../sql/core/db.ts'
import { checkSchema, migrate } from '../../../sql/core/migrate.ts'
import { createDatabase } from '../../support/database.ts'
import { findBuild, holdTransaction, openMigrator, seeCommits } from '../../support/migrators.ts'
import { plantMigrations } from '../../support/planted-migrations.ts'

const INDEX = 'create index concurrently if not exists by_name on organizations (name);'

t.test('writers go on while an index is built', async (t) => {
  const { sql, url, folder } = await open(t)
  const writer = await holdTransaction(sql)
  const migrating = migrate(openMigrator(t, url), { folder })
  await findBuild(sql)
  t.equal((await sql`update organizations set name = name`).count, 1)
  await writer.end()
  await migrating
  t.equal(await isValid(sql), true)
})

t.test('processes that migrate at once build an index once, of any release', async (t) => {
  const { sql, url, folder } = await open(t)
  const writer = await holdTransaction(sql)
  const told: string[] = []
  const report = (sentence: string) => told.push(sentence)
  const migrating = [1, 2, 3].map(() => migrate(openMigrator(t, url), { folder, report }))
  await findBuild(sql)
  // Each found the migration missing; two of them ask for the lock.
  await seeCommits(sql, 3 + 2)
  // An older release waits for this lock in one statement, for which a build would wait.
  await sql.begin((tx) => tx`select pg_advisory_xact_lock(7304511)`)
  await writer.end()
  await Promise.all(migrating)
  t.equal(told.filter((sentence) => sentence.startsWith('Building index')).length, 1)
  t.equal(await checkSchema(sql, folder), 'current')
})

t.test('a build that was killed is begun again', async (t) => {
  const { sql, url, folder } = await open(t)
  const writer = await holdTransaction(sql)
  const killed = t.rejects(migrate(openMigrator(t, url), { folder }))
  await sql`select pg_terminate_backend(${await findBuild(sql)})`
  await killed
  await writer.end()
  t.equal(await isValid(sql), false)
  t.equal(await checkSchema(sql, folder), 'behind')
  await migrate(openMigrator(t, url), { folder })
  t.equal(await isValid(sql), true)
  t.equal(await checkSchema(sql, folder), 'current')
})

t.test('a build whose process was killed is waited for', async (t) => {
  const { sql, url, folder } = await open(t)
  const writer = await holdTransaction(sql)
  const lost = openMigrator(t, url)
  const killed = t.rejects(migrate(lost, { folder }))
  const pid = await findBuild(sql)
  await lost.end({ timeout: 0 })
  await killed
  const waits = Promise.withResolvers<string>()
  const migrating = migrate(openMigrator(t, url), { folder, report: waits.resolve })
  t.match(await waits.promise, /is being built by a process that is gone/)
  t.equal(await findBuild(sql), pid)
  await writer.end()
  await migrating
  t.equal(await isValid(sql), true)
})

t.test('a build that was canceled is told in a sentence', async (t) => {
  const { sql, url, folder } = await open(t)
  const writer = await holdTransaction(sql)
  const canceled = t.rejects(migrate(openMigrator(t, url), { folder }), {
    message: /^The build of index by_name was canceled\./,
  })
  await sql`select pg_cancel_backend(${await findBuild(sql)})`
  await canceled
  await writer.end()
})

t.test(
  'a file builds its indexes one after another, and goes on with the one that was killed',
  async (t) => {
    const { sql, url } = await open(t)
    const other =
      'create unique index concurrently if not exists by_label on workspaces (id, name);'
    const text = `-- serves: 16\n-- Two; of two tables.\n${other}\n\n${INDEX}\n`
    const folder = await plantMigrations(t, { '9000-two.sql': text })
    const writer = await holdTransaction(sql)
    const killed = t.rejects(migrate(openMigrator(t, url), { folder }))
    await sql`select pg_terminate_backend(${await findBuild(sql)})`
    await killed
    await writer.end()
    t.same([await isValid(sql, 'by_label'), await isValid(sql)], [true, false])
    t.equal(await checkSchema(sql, folder), 'behind')
    const told: string[] = []
    await migrate(openMigrator(t, url), { folder, report: (sentence) => told.push(sentence) })
    t.same([await isValid(sql, 'by_label'), await isValid(sql)], [true, true])
    t.notMatch(told, [/by_label/], 'the first one is left as it is')
    t.equal(await checkSchema(sql, folder), 'current')
  },
)

/** A database with an organization, and a release to come that has an index more. */
async function open(t: Test) {
  const url = await createDatabase(t)
  const sql = openMigrator(t, url)
  await sql`
    insert into organizations (id, name) values ('00000000-0000-7000-8000-000000000001', 'o')`
  return { url, sql, folder: await plantMigrations(t, { '9000-i.sql': `-- serves: 16\n${INDEX}` }) }
}

async function isValid(sql: Sql, name = 'by_name') {
  const [row] = await sql<{ valid: boolean }[]>`
    select indisvalid as valid from pg_index where indexrelid = to_regclass(${name})`
  return row?.valid
}
