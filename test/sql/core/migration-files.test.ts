import t from 'tap'
import { listMigrations, readMigration } from '../../../sql/core/migration-files.ts'
import type { MigrationFile } from '../../../sql/core/migration-files.ts'
import { plantMigrations } from '../../support/planted-migrations.ts'

t.test('each migration from 17 on says whom it serves, and never an older one again', async (t) => {
  const migrations = await Promise.all((await listMigrations()).map(readMigration))
  let least = 16
  for (const { name, number, text, serves } of migrations.filter(({ number }) => number > 16)) {
    t.match(text, /^-- serves: \d+\n/, name)
    t.ok(serves >= least && serves < number, `${name} serves ${serves}`)
    least = serves
  }
})

t.test('a released migration serves nobody older than itself', async (t) => {
  for (const file of (await listMigrations()).filter(({ number }) => number <= 16)) {
    t.equal((await readMigration(file)).serves, file.number)
  }
})

t.test('an index is built concurrently in a file of its own', async (t) => {
  async function read(text: string) {
    const folder = await plantMigrations(t, { '9000-index.sql': text })
    return readMigration((await listMigrations(folder)).at(-1) as MigrationFile)
  }
  const index = 'create index concurrently if not exists by_name\n  on organizations (name);'
  t.match(await read(`-- serves: 16\n-- Read; by whom: all.\n${index}\n`), {
    serves: 16,
    index: 'by_name',
  })
  t.match(await read('-- Nothing concurrently.\nselect 1;'), { serves: 9000, index: undefined })
  for (const text of [
    `${index} ${index}`,
    `begin; ${index}`,
    index.replace('if not exists ', ''),
  ]) {
    await t.rejects(read(text), { message: /^9000-index.sql must hold one statement/ })
  }
})
