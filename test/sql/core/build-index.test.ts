import t from 'tap'
import type { Test } from 'tap'
import { buildIndex } from '../../../sql/core/build-index.ts'
import type { Sql } from '../../../sql/core/db.ts'
import { checkSchema, migrate } from '../../../sql/core/migrate.ts'
import { createDatabase } from '../../support/database.ts'
import { findBuild, holdTransaction, openMigrator } from '../../support/migrators.ts'
import { plantMigrations } from '../../support/planted-migrations.ts'

const BY_NAME = { name: 'by_n', table: 'parted', isUnique: false, definition: '(n) where n > 0' }
const SECOND_LEVEL = `
  create table parted_4 partition of parted for values in (4) partition by list (n);
  create table parted_4_1 partition of parted_4 for values in (1)`
const silent = () => undefined

t.test(
  'the index of a partitioned table is built on each partition, and on those to come',
  async (t) => {
    const { sql } = await open(t)
    await sql.unsafe(SECOND_LEVEL)
    await buildIndex(sql, BY_NAME, silent)
    await sql`create table parted_3 partition of parted for values in (3)`
    t.match(await listIndexes(sql), [
      { table: 'parted', name: 'by_n', valid: true, parent: null },
      { table: 'parted_1', name: 'by_n_parted_1', valid: true, parent: 'by_n' },
      { table: 'parted_2', name: 'by_n_parted_2', valid: true, parent: 'by_n' },
      { table: 'parted_3', valid: true, parent: 'by_n' },
      { table: 'parted_4', name: 'by_n_parted_4', valid: true, parent: 'by_n' },
      { table: 'parted_4_1', valid: true, parent: 'by_n_parted_4' },
    ])
    await buildIndex(sql, BY_NAME, silent)
    t.equal((await listIndexes(sql)).length, 6)
  },
)

t.test('an index of partitions is unique where it says so, and its names fit', async (t) => {
  const { sql } = await open(t)
  const [first, second] = ['a', 'b'].map((end) => `${'p'.repeat(62)}${end}`)
  await sql.unsafe(
    `alter table parted_1 rename to ${first}; alter table parted_2 rename to ${second}`,
  )
  await buildIndex(sql, { ...BY_NAME, isUnique: true, definition: '(period, n)' }, silent)
  const names = (await listIndexes(sql)).flatMap(({ parent, name }) => (parent ? [name] : []))
  t.equal(new Set(names).size, 2)
  for (const name of names) t.match(name, /^by_n_p{49}_[0-9a-f]{8}$/)
  await t.rejects(sql`insert into parted (period, n) values (1, 1)`, { code: '23505' })
})

t.test('a build over partitions goes on where it was killed', async (t) => {
  const parent = 'create index by_n on only parted (n) where n > 0;'
  const part = 'create index by_n_parted_1 on parted_1 (n) where n > 0;'
  const attached = 'alter index by_n attach partition by_n_parted_1;'
  for (const [left, text] of Object.entries({
    'the empty index': parent,
    'a part': parent + part,
    'an attached part': parent + part + attached,
    'an empty index whose partitions are gone': `${parent} drop table parted_1, parted_2`,
    'a part and no other partition': `${parent + part + attached} drop table parted_2`,
  })) {
    const { sql } = await open(t)
    await sql.unsafe(text)
    await buildIndex(sql, BY_NAME, silent)
    const indexes = await listIndexes(sql)
    t.equal(new Set(indexes.map(({ table }) => table)).size, indexes.length, left)
    t.ok(
      indexes.every(({ valid }) => valid),
      left,
    )
    const tables = await sql`select from pg_class where relname ~ '^parted(_.)?$'`
    t.equal(indexes.length, tables.length, left)
  }
})

t.test(
  'a migration builds an index over partitions, also after its server process was killed',
  async (t) => {
    const { sql, url } = await open(t)
    const text =
      '-- serves: 16\ncreate index concurrently if not exists by_n on parted (n) where n > 0;'
    const folder = await plantMigrations(t, { '9000-i.sql': text })
    const writer = await holdTransaction(sql, 'insert into parted_2 values (2, 5)')
    const killed = t.rejects(migrate(openMigrator(t, url), { folder }))
    const build = await findBuild(sql)
    t.equal((await sql`insert into parted values (2, 6)`).count, 1, 'writers go on')
    await sql`select pg_terminate_backend(${build})`
    await killed
    await writer.end()
    t.equal(await checkSchema(sql, folder), 'behind')
    await sql`create table parted_3 partition of parted for values in (3)`
    await migrate(openMigrator(t, url), { folder })
    t.same(
      (await listIndexes(sql)).map(({ table, valid }) => ({ table, valid })),
      ['parted', 'parted_1', 'parted_2', 'parted_3'].map((table) => ({ table, valid: true })),
    )
    t.equal(await checkSchema(sql, folder), 'current')
  },
)

t.test('a part that waits to be attached lets readers of its partition pass', async (t) => {
  const { sql } = await open(t)
  await sql`create index by_n_parted_1 on parted_1 (n) where n > 0`
  const reader = await holdTransaction(sql, 'select from parted_1 where n = 1')
  const waits = Promise.withResolvers<string>()
  const building = buildIndex(sql, BY_NAME, waits.resolve)
  t.match(await waits.promise, /^Index by_n waits for a lock/)
  t.equal((await sql`select from parted_1 where n = 1`).length, 1, 'a second reader')
  await reader.end()
  await building
  t.ok((await listIndexes(sql)).every(({ valid }) => valid))
})

/** A table of two partitions with a row each. */
async function open(t: Test) {
  const url = await createDatabase(t)
  const sql = openMigrator(t, url)
  await sql.unsafe(`
    create table parted (period int, n int) partition by list (period);
    create table parted_1 partition of parted for values in (1);
    create table parted_2 partition of parted for values in (2);
    insert into parted values (1, 1), (2, 1)`)
  return { url, sql }
}

function listIndexes(sql: Sql) {
  return sql<{ table: string; name: string; valid: boolean; parent: string | null }[]>`
    select t.relname as table, c.relname as name, i.indisvalid as valid,
      a.inhparent::regclass::text as parent
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
    left join pg_inherits a on a.inhrelid = i.indexrelid
    where t.relname ~ '^(parted|ppp)' order by t.relname`
}
