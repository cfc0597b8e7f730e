import type { Sql } from '../../sql/core/db.ts'
import { listDirtyDays } from '../../sql/evals/cell-marks.ts'
import { aggregateDay } from '../../sql/evals/score-cells.ts'
import { foldCounts } from '../../sql/traces/count-changes.ts'
import { insertTraces } from '../../sql/traces/trace-inserts.ts'
import { makeOrganization } from './prepare.ts'
import type { Bench } from './prepare.ts'
import type { ScaleOrganization } from './scale-organization.ts'
import { storeRange, VERSIONS } from './scale-rows.ts'
import { AGENTS, makeTemplates } from './scale-templates.ts'

/**
 * Loads an organization of each size, and a second one of the last size that is nobody's but a neighbour.
 * What they store is mixed on the disk as if it had come in by turns.
 * @param sizes traces of each, in ascending order; they have started in the last `days`
 * @param report is told what takes long
 */
export async function loadScale(
  { sql, owner }: Bench,
  { sizes, days }: { readonly sizes: readonly number[]; readonly days: number },
  report: (sentence: string) => void,
): Promise<ScaleOrganization[]> {
  const endedAt = new Date()
  const beganAt = new Date(endedAt.getTime() - days * DAY_MS)
  await makePeriods(sql, beganAt)
  await storeTemplates(sql, owner)
  const columns = await traceColumns(sql)
  const loaded: ScaleOrganization[] = []
  const largest = sizes.at(-1) ?? 0
  for (const [n, rows] of [...sizes, largest].entries()) {
    const made = await makeOrganization(sql)
    loaded.push({ name: `o${n}-`, rows, beganAt, endedAt, ...made })
    await storeManifests(sql, made.owner)
    await storeOthers(sql, made.owner, rows)
  }
  const indexes = await dropIndexes(sql)
  for (let from = 0; from < largest; from += CHUNK) {
    const larger = loaded.filter(({ rows }) => rows > from)
    await Promise.all(
      larger.map((organization) => {
        const to = Math.min(from + CHUNK, organization.rows)
        return sql.unsafe(storeRange(organization, columns, [from, to]))
      }),
    )
    if ((from / CHUNK) % 10 === 0) report(`the first ${from + CHUNK} traces of each are stored`)
  }
  await buildIndexes(sql, indexes)
  report(`${indexes.length} indexes built`)
  await sql`vacuum analyze`
  // One after the other, so that each organization's stand together.
  for (const organization of loaded) await sumScores(sql, organization)
  while ((await foldCounts(sql, CHUNK)) > 0);
  await sql`vacuum analyze`
  report('scores summed up')
  return loaded
}

/** Those of the months in which the traces have come. */
async function makePeriods(sql: Sql, beganAt: Date) {
  await sql`
    select make_trace_period(month::date)
    from generate_series(date_trunc('month', ${beganAt}::timestamptz at time zone 'UTC'),
      now() at time zone 'UTC', interval '1 month') as month
    where month::date not in (select period from trace_periods)`
}

async function storeTemplates(sql: Sql, owner: Bench['owner']) {
  await insertTraces(
    sql,
    makeTemplates().map((row) => ({ ...row, ...owner })),
  )
  await sql`
    create table scale_templates as
    select (row_number() over (order by trace_id) - 1)::int as n, *, search_document(
      concat_ws(' ', user_input_preview, final_output_preview, error_code, error_message)) as document
    from traces`
  await sql`create unique index on scale_templates (n)`
  await sql`analyze scale_templates`
}

/** A new column has the value of the template. */
async function traceColumns(sql: Sql) {
  const columns = await sql<{ name: string }[]>`
    select column_name as name from information_schema.columns
    where table_schema = 'public' and table_name = 'traces' and is_generated = 'NEVER'
    order by ordinal_position`
  return columns.map(({ name }) => name)
}

async function storeManifests(sql: Sql, { org_id, project_id }: Bench['owner']) {
  await sql`
    insert into manifests (org_id, project_id, agent_name, id, version_number, manifest_hash, shown_hash,
      contract_hash, status, is_closed_world, components_count)
    select ${org_id}, ${project_id}, agent, gen_random_uuid(), version, hash, hash, hash,
      case version when ${VERSIONS}::int then 'active' else 'superseded' end, false, 0
    from unnest(${AGENTS}::text[]) as agent, generate_series(1, ${VERSIONS}::int) as version,
      lateral (select 'sha256:' || encode(sha256((agent || version)::bytea), 'hex') as hash) as hashed`
}

/** Datasets, jobs and imports, of which a larger organization has more. */
async function storeOthers(sql: Sql, { org_id, project_id }: Bench['owner'], rows: number) {
  // More than a page of each at any size.
  const [many, few] = [Math.ceil(rows / 50), Math.ceil(rows / 100)]
  await sql`
    insert into datasets (org_id, project_id, id, name, dataset_type)
    select ${org_id}, ${project_id}, gen_random_uuid(), 'set ' || n, 'sft'
    from generate_series(1, ${few}::int) n`
  await sql`
    insert into jobs (org_id, project_id, id, kind, queue_job_id, state, created_at, started_at,
      finished_at)
    select ${org_id}, ${project_id}, gen_random_uuid(), 'import.run', gen_random_uuid(), 'succeeded', at, at,
      at + interval '1 minute'
    from generate_series(1, ${many}::int) n, lateral (select now() - n * interval '1 minute' as at) times`
  await sql`
    insert into imports (org_id, project_id, id, job_id, source, bytes_total, created_at)
    select org_id, project_id, gen_random_uuid(), id, 'auto', 0, created_at from jobs
    where org_id = ${org_id} order by created_at desc limit ${few}`
}

/**
 * Drops what only makes reading faster, so that it is built at once behind the rows.
 * @returns the statements that make it again
 */
async function dropIndexes(sql: Sql) {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select indexname as name, replace(indexdef, ' ON ONLY ', ' ON ') as definition from pg_indexes
    where schemaname = 'public' and tablename in ('traces', 'eval_scores', 'verdicts', 'trace_search')
      and indexdef not like 'CREATE UNIQUE %'`
  for (const { name } of indexes) await sql`drop index ${sql(name)}`
  return indexes.map(({ definition }) => definition)
}

/** With room for those of words and tags, which are else written and read in parts. */
async function buildIndexes(sql: Sql, definitions: readonly string[]) {
  await sql.begin(async (tx) => {
    await tx`set local maintenance_work_mem = '512MB'`
    for (const definition of definitions) await tx.unsafe(definition)
  })
}

/** As the workers do after scores have come. */
async function sumScores(sql: Sql, { owner: { org_id, project_id } }: ScaleOrganization) {
  await sql`
    insert into score_cells_dirty (org_id, project_id, agent_name, day)
    select distinct org_id, project_id, agent_name, (started_at at time zone 'UTC')::date from traces
    where org_id = ${org_id} and project_id = ${project_id}`
  const days = await listDirtyDays(sql, org_id, project_id, 10_000)
  for (const { agent_name: agentName, day } of days) {
    await aggregateDay(sql, { orgId: org_id, projectId: project_id, agentName, day })
  }
}

/** Traces a statement. */
const CHUNK = 10_000
const DAY_MS = 86_400_000
