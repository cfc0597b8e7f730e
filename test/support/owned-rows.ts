import type { Sql } from '../../sql/core/db.ts'

/** The tables whose rows belong to organizations, parts of divided ones included, as the standard's catalog has them. */
export async function listOwned(sql: Sql) {
  const rows = await sql<{ name: string }[]>`
    select c.table_name as name
    from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where table_schema = 'public' and c.column_name = 'org_id' and t.table_type = 'BASE TABLE'
    order by 1`
  return rows.map(({ name }) => name)
}

/** How many rows of an organization each of these tables has. */
export async function countOwned(sql: Sql, tables: readonly string[], orgId: string) {
  const counts: Record<string, number> = {}
  for (const name of tables) {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from ${sql(name)} where org_id = ${orgId}`
    counts[name] = row?.n ?? 0
  }
  return counts
}

/**
 * Gives each of these tables that has no row of an organization one that makes no sense. For a database of
 * the test's own, whose check constraints it takes away; foreign keys and triggers are left out meanwhile.
 */
export async function fillOwned(sql: Sql, tables: readonly string[], orgId: string) {
  const counts = await countOwned(sql, tables, orgId)
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    for (const name of tables.filter((name) => counts[name] === 0)) {
      const checks = await tx<{ conname: string; of_table: string }[]>`
        select conname, conrelid::regclass::text as of_table from pg_constraint
        where contype = 'c' and conislocal and (conrelid = ${name}::regclass or conrelid in (
          select inhparent from pg_inherits where inhrelid = ${name}::regclass))`
      for (const { conname, of_table } of checks) {
        await tx`alter table ${tx(of_table)} drop constraint if exists ${tx(conname)}`
      }
      const columns = await tx<{ name: string; type: string }[]>`
        select attname as name, format_type(atttypid, null) as type
        from pg_attribute where attrelid = ${name}::regclass and attnum > 0 and not attisdropped
          and attgenerated = '' and attidentity = ''
          and (attnotnull and (not atthasdef or attname = 'period') or attname = 'org_id')`
      const values = columns.map((column) => valueOf(name, column, orgId))
      const names = columns.map((column) => `"${column.name}"`)
      await tx.unsafe(`insert into ${name} (${names.join()}) values (${values.join()})`)
    }
  })
}

function valueOf(table: string, { name, type }: { name: string; type: string }, orgId: string) {
  if (name === 'org_id') return `'${orgId}'`
  if (name === 'period') {
    // A part of a divided table is named after its period.
    const month = /_(\d{4})_(\d\d)$/.exec(table)
    return month ? `'${month[1]}-${month[2]}-01'` : 'storing_period()'
  }
  if (type.endsWith('[]')) return `'{}'`
  return VALUES[type] ?? `'1'`
}

const VALUES: Readonly<Record<string, string>> = {
  uuid: 'gen_random_uuid()',
  jsonb: `'{}'`,
  bytea: 'uuid_send(gen_random_uuid())',
  text: 'gen_random_uuid()::text',
  date: `'2026-01-01'`,
  tsvector: `''`,
  boolean: 'false',
  'timestamp with time zone': 'now()',
}
