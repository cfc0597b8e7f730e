import t from 'tap'
import { KINDS } from '../../../jobs/rules/import/backup/lines.ts'
import {
  DERIVED_TABLES,
  TABLES_LEFT_OUT,
  TABLES_WITHIN_LINES,
} from '../../../jobs/rules/import/backup/tables.ts'
import { openTestDatabase } from '../../support/database.ts'

const { sql } = await openTestDatabase(t)

t.test('a backup has each table, or says why not', async (t) => {
  const rows = await sql<{ name: string }[]>`
    select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname collate "C"`
  const placed = [
    ...new Set(KINDS.map(({ table }) => table)),
    ...Object.keys(TABLES_WITHIN_LINES),
    ...Object.keys(DERIVED_TABLES),
    ...Object.keys(TABLES_LEFT_OUT),
  ]
  t.same(
    rows.map(({ name }) => name),
    placed.sort(),
    'each table is in one of the lists, and no list has another',
  )
})

t.test('a kind has each column of its table, or says that it has not', async (t) => {
  for (const kind of KINDS) {
    const columns = await sql<{ name: string }[]>`
      select attname::text as name from pg_attribute
      where attrelid = ${kind.table}::regclass and attnum > 0 and not attisdropped`
    const written = kind.members.map(({ column }) => column).filter((column) => column !== null)
    t.same(
      columns.map(({ name }) => name).sort(),
      [...new Set(written), ...kind.without].sort(),
      kind.name,
    )
  }
})

t.test('what names and sorts lines are members of them', async (t) => {
  for (const { name, members, key, order } of KINDS) {
    const names = members.map((member) => member.name)
    t.same(
      [...key, ...order].filter((each) => !names.includes(each)),
      [],
      name,
    )
  }
})
