import t from 'tap'
import { listMigrations, readMigration } from '../../../sql/core/migration-files.ts'

/** Applied where nothing is served yet, or to a database that is stopped for it. */
const STOPPING = 16

t.test('a migration beside running traffic locks no table to build an index', async (t) => {
  for (const file of (await listMigrations()).filter(({ number }) => number > STOPPING)) {
    const { text } = await readMigration(file)
    const made = new Set([...text.matchAll(/create table (\w+)/g)].map(([, table]) => table))
    const locked = [...text.matchAll(/create (?:unique )?index \w+ on (\w+)/g)]
      .map(([, table]) => table)
      .filter((table) => !made.has(table))
    t.same(locked, [], file.name)
  }
})
