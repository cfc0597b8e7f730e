import t from 'tap'
import type { Test } from 'tap'
import { listMigrations, readMigration } from '../../../sql/core/migration-files.ts'
import type { MigrationFile } from '../../../sql/core/migration-files.ts'
import { plantMigrations } from '../../support/planted-migrations.ts'

t.test('each migration from 17 on says whom it serves, and never an older one again', async (t) => {
  const migrations = await Promise.all((await listMigrations()).map(readMigration))
  let least = 16
  for (const { name, number, text, serves, kind } of migrations.filter(
    ({ number }) => number > 16,
  )) {
    t.match(text, /^-- serves: \d+/, name)
    // A contracting one may serve no code but its own, and what follows it may be applied before it.
    const most = kind === 'contracting' ? number : number - 1
    t.ok(serves >= least && serves <= most, `${name} serves ${serves}`)
    if (kind !== 'contracting') least = serves
  }
})

t.test('a released migration serves nobody older than itself', async (t) => {
  for (const file of (await listMigrations()).filter(({ number }) => number <= 16)) {
    t.equal((await readMigration(file)).serves, file.number)
  }
})

t.test('a migration locks a table fully before it locks it in part', async (t) => {
  const migrations = await Promise.all((await listMigrations()).map(readMigration))
  // Those before served nobody older, who would be there to be harmed.
  for (const { name, text } of migrations.filter(({ number }) => number > 16)) {
    t.same(findRaisedLocks(text), [], name)
  }
  const child = 'create table parts (job_id uuid references jobs);'
  const column = 'alter table jobs add column secret bytea;'
  const trigger =
    'create trigger ended after update of state on jobs for each row execute function f();'
  t.same(findRaisedLocks(`${child}\n${column}`), ['jobs'])
  t.same(findRaisedLocks(`${trigger}\n${column}`), ['jobs'])
  t.same(findRaisedLocks(`${column}\n${child}\n${trigger}\n${column}`), [])
  t.same(findRaisedLocks(`create table jobs (id uuid);\n${child}\n${column}`), [])
})

t.test('indexes are built concurrently in a file of their own', async (t) => {
  const first = 'create index concurrently if not exists by_name\n  on organizations (name);'
  const second =
    'create unique index concurrently if not exists by_id on workspaces using btree(id)'
  t.match(await read(t, `-- serves: 16\n-- Read; by whom: all.\n${first}\n\n${second};\n`), {
    serves: 16,
    kind: 'indexes',
    indexes: [
      { name: 'by_name', table: 'organizations', isUnique: false, definition: '(name)' },
      { name: 'by_id', table: 'workspaces', isUnique: true, definition: 'using btree(id)' },
    ],
  })
  t.match(await read(t, '-- Nothing concurrently.\nselect 1;'), {
    serves: 9000,
    kind: 'ordinary',
    indexes: [],
  })
  for (const text of [
    `begin; ${first}`,
    `${first} select 1;`,
    `-- serves: 16, contracting\n${first}`,
    first.replace('if not exists ', ''),
    first.replace('on ', 'on only '),
    'drop index concurrently by_name;',
  ]) {
    await t.rejects(read(t, text), {
      message: /^9000-next.sql must hold nothing but: create index/,
    })
  }
})

t.test('a repeated migration holds one statement that changes rows', async (t) => {
  const fill = 'update organizations set name = null where id in (select id from x limit 9);'
  for (const text of [fill, `with x as (select 1) ${fill}`, 'delete from x where id < 9;']) {
    const migration = await read(t, `-- serves: 16, repeated\n-- One; of nine.\n${text}\n`)
    t.match(migration, { serves: 16, kind: 'repeated', indexes: [] })
  }
  for (const text of [`${fill} ${fill}`, 'select 1;', fill.replace(';', ''), '']) {
    const message = /^9000-next.sql must hold one statement/
    await t.rejects(read(t, `-- serves: 16, repeated\n${text}`), { message })
  }
})

t.test('a first line that says something else is refused', async (t) => {
  t.match(await read(t, '-- serves: 16, contracting\nselect 1;'), { kind: 'contracting' })
  for (const line of ['-- serves: 16, contacting', '-- serves 16', '-- serves: 16,repeated']) {
    await t.rejects(read(t, `${line}\nselect 1;`), { message: /^9000-next.sql must begin with/ })
  }
})

async function read(t: Test, text: string) {
  const folder = await plantMigrations(t, { '9000-next.sql': text })
  return readMigration((await listMigrations(folder)).at(-1) as MigrationFile)
}

/**
 * The tables that are altered after a foreign key to them, or a trigger on them, has locked them against
 * writing. A transaction that has read such a table and then writes to it is at once found to be in a deadlock
 * with the lock's raise, and is the one that fails.
 */
function findRaisedLocks(text: string) {
  const code = text.replaceAll(/--.*/g, '')
  const made = new Set([...code.matchAll(/create table (\w+)/g)].map(([, table]) => table))
  const partly = [...code.matchAll(/\breferences (\w+)|create trigger[^;]*? on (\w+)/g)]
  const fully = [...code.matchAll(/(?:alter|drop) table (\w+)/g)]
  const firstOf = (found: readonly RegExpExecArray[], table: string) =>
    found.find((match) => match.slice(1).includes(table))?.index ?? Infinity
  return [...new Set(fully.map(([, table = '']) => table))].filter(
    (table) => !made.has(table) && firstOf(partly, table) < firstOf(fully, table),
  )
}
