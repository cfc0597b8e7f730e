import { globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import t from 'tap'
import { jobs } from '../../../jobs/index.ts'
import { migrateAll } from '../../../ops/migrate.ts'
import { openDatabase } from '../../../sql/core/db.ts'
import type { Sql } from '../../../sql/core/db.ts'
import { checkSchema, migrate } from '../../../sql/core/migrate.ts'
import { listMigrations } from '../../../sql/core/migration-files.ts'
import { createDatabase } from '../../support/database.ts'

t.test('migrations', async (t) => {
  const url = await createDatabase(t)
  const admin = openDatabase(url, { max: 1 })
  t.teardown(() => admin.end({ timeout: 1 }))
  const silent = { warn: () => undefined }

  async function createEmpty() {
    const { pathname } = new URL(url)
    const name = `${pathname.slice(1)}_${++made}`
    await admin.unsafe(`create database ${name}`)
    t.teardown(() => admin.unsafe(`drop database ${name} with (force)`))
    const emptyUrl = url.replace(pathname, `/${name}`)
    const sql = openDatabase(emptyUrl, { max: 4 })
    t.teardown(() => sql.end({ timeout: 1 }))
    return { url: emptyUrl, sql }
  }
  let made = 0

  t.test('four processes at once set an empty database up once', async (t) => {
    const { url, sql } = await createEmpty()
    t.equal(await checkSchema(sql), 'behind')
    await Promise.all(Array.from({ length: 4 }, () => migrateAll(url, silent)))
    t.equal(await checkSchema(sql), 'current')
    const applied = await sql<{ number: number }[]>`
      select number from applied_migrations order by number`
    t.same(
      applied.map(({ number }) => number),
      (await listMigrations()).map(({ number }) => number),
    )
    const queues = await sql<{ name: string }[]>`select name from pgboss.queue`
    const names = queues.flatMap(({ name }) => (name.startsWith('__pgboss__') ? [] : [name]))
    t.same(names.sort(), jobs.flatMap(({ name }) => [name, `${name}.dlq`]).sort())
  })

  t.test('running them again changes nothing', async (t) => {
    const { url, sql } = await createEmpty()
    await migrateAll(url, silent)
    const before = await describeSchema(sql)
    await migrateAll(url, silent)
    t.same(await describeSchema(sql), before)
    t.ok(before.length > 50)
  })

  t.test('a failing migration leaves nothing of itself and no lock', async (t) => {
    const { sql } = await createEmpty()
    await sql`create table organizations (in_the_way int)`
    await t.rejects(migrate(sql), { code: '42P07' })
    const [left] = await sql`select to_regclass('api_keys') as table`
    t.equal(left?.['table'], null)
    await sql`drop table organizations`
    await migrate(sql)
    t.equal(await checkSchema(sql), 'current')
  })

  t.test('drafts of before traffic activated any are left to a person', async (t) => {
    const { sql } = await createEmpty()
    await migrateBefore(sql, '0009')
    await sql`insert into organizations (id, name) values (${ID}, 'o')`
    await sql`insert into workspaces (org_id, id, name) values (${ID}, ${ID}, 'w')`
    await sql`
      insert into projects (org_id, id, workspace_id, name) values (${ID}, ${ID}, ${ID}, 'p')`
    await sql`
      insert into manifests (org_id, project_id, id, agent_name, version_number, manifest_hash,
        shown_hash, contract_hash, status, is_closed_world, components_count)
      select ${ID}, ${ID}, gen_random_uuid(), 'a', n, 'sha256:' || repeat(n::text, 64), '', '', status,
        false, 0
      from unnest(array['superseded', 'active', 'draft']) with ordinality as v (status, n)`
    await migrate(sql)
    t.same(await sql`select status from manifests where is_held`, [{ status: 'draft' }])
  })
})

/** Applies the migrations before a number. */
async function migrateBefore(sql: Sql, number: string) {
  const files = globSync('sql/migrations/*.sql').sort()
  await sql`create table schema_migrations (number int primary key, name text not null,
    applied_at timestamptz not null default now())`
  for (const file of files.filter((each) => basename(each) < number)) {
    await sql.unsafe(readFileSync(file, 'utf8'))
    const name = basename(file)
    await sql`
      insert into schema_migrations (number, name) values (${name.slice(0, 4)}::int, ${name})`
  }
}

const ID = '00000000-0000-7000-8000-000000000001'

function describeSchema(sql: ReturnType<typeof openDatabase>) {
  return sql`
    select table_schema, table_name, column_name, data_type, column_default
    from information_schema.columns where table_schema in ('public', 'pgboss')
    order by table_schema, table_name, ordinal_position`
}
