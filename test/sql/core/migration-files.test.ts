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
    t.ok(serves >= least && (serves < number || kind === 'contracting'), `${name} serves ${serves}`)
    // What follows a contracting one may be applied before it.
    if (kind !== 'contracting') least = serves
  }
})

t.test('a released migration serves nobody older than itself', async (t) => {
  for (const file of (await listMigrations()).filter(({ number }) => number <= 16)) {
    t.equal((await readMigration(file)).serves, file.number)
  }
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
