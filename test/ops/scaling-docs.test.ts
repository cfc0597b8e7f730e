import { readFileSync } from 'node:fs'
import t from 'tap'
import { citusTable } from '../../ops/docs/citus.ts'
import { readPart, readTable } from '../../ops/docs/parts.ts'
import { readSchema } from '../../ops/docs/schema.ts'
import { openTestDatabase } from '../support/database.ts'

const document = readFileSync('ops/docs/scaling.md', 'utf8')

t.test(
  'the document on scaling holds every table and key against the rules of Citus',
  async (t) => {
    const { sql } = await openTestDatabase(t)
    const documented = readTable(readPart(document, 'citus'))
    t.same(documented, readTable(await citusTable(sql)), 'write it: node ops/docs/citus.ts')
    t.ok(documented.length > 80, `${documented.length} tables`)
  },
)

t.test('what Citus refuses is told of each kind of fault', async (t) => {
  const { sql } = await openTestDatabase(t)
  await sql.unsafe(`
    create table public.planted (org_id uuid references organizations, id uuid primary key,
      trace_id text, project_id uuid, job_id uuid unique,
      foreign key (project_id) references registry_skills,
      foreign key (org_id, job_id) references jobs (org_id, id) on delete set null);
    create table public.planted_child (org_id uuid not null, parent uuid references planted,
      primary key (org_id, parent));
    alter table registry_slugs add foreign key (skill_id) references planted;`)
  const refused = new Map(readTable(await citusTable(sql)).map((row) => [row[0], row.at(-1)]))
  t.equal(
    refused.get('`planted`'),
    [
      '`org_id` may be null',
      '`planted_job_id_key` lacks org_id',
      '`planted_pkey` lacks org_id',
      '`planted_org_id_job_id_fkey` points to the coordinator',
    ].join('; '),
  )
  t.equal(refused.get('`planted_child`'), '`planted_child_parent_fkey` lacks org_id')
  t.match(refused.get('`registry_slugs`'), /is from reference to distributed/)
  await sql`alter table planted add foreign key (org_id) references organizations on delete set null`
  t.match(readTable(await citusTable(sql)).join('\n'), /would change org_id/)
  await sql`create table public.nowhere (id uuid primary key)`
  await t.rejects(citusTable(sql), /nowhere has no org_id/)
})

t.test('the schema is read with the columns of keys in their order', async (t) => {
  const { sql } = await openTestDatabase(t)
  const tables = new Map((await readSchema(sql)).map((each) => [each.name, each]))
  t.match(tables.get('traces'), { is_partitioned: true, has_org: true, is_nullable: false })
  t.match(tables.get('annotations')?.foreign_keys, [
    {
      target: { name: 'trace_ids', has_org: true },
      columns: ['org_id', 'project_id', 'trace_id'],
      target_columns: ['org_id', 'project_id', 'trace_id'],
      actions: ['cascade', 'no action'],
    },
  ])
  t.notOk(
    [...tables.keys()].some((name) => name.startsWith('traces_')),
    'no partitions',
  )
})

t.test('metrics and alerts that the document names are there', async (t) => {
  const metrics = ['metrics', 'api-metrics'].map((name) => readFileSync(`ops/${name}.ts`, 'utf8'))
  const alerts = readFileSync('ops/deploy/alerts.yaml', 'utf8')
  const named = [...document.matchAll(/`(adl_\w+)/g)].map(([, name = '']) => name)
  t.ok(named.length > 10, `${named.length} metrics`)
  t.same(
    named.filter((name) => !metrics.join('').includes(`'${name}'`)),
    [],
  )
  const warned = [...document.matchAll(/alert `(\w+)`/g)].map(([, name = '']) => name)
  t.ok(warned.length > 4, `${warned.length} alerts`)
  t.same(
    warned.filter((name) => !alerts.includes(`alert: ${name}\n`)),
    [],
  )
})

t.test('each measured figure of a node is one of those that benches wrote', async (t) => {
  const [, carried = ''] = /\n(\| node [\s\S]*?)\n\n/.exec(document) ?? []
  const measured = readPart(readFileSync('ops/docs/performance.md', 'utf8'), 'measured')
  const figures = readTable(carried).flatMap(([, , speed = '', memory = '']) => {
    const told = memory.includes('(measured)') ? `${speed} ${memory.replace(/;.*/, '')}` : speed
    return told.match(/\b\d[\d,]*\b/g) ?? []
  })
  t.ok(figures.length > 15, `${figures.length} figures`)
  const known = new Set(measured.match(/\d[\d,]*/g))
  t.same(
    figures.filter((figure) => !known.has(figure)),
    [],
  )
})
