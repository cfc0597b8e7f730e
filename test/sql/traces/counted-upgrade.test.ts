import { readdir, copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import postgres from 'postgres'
import { openDatabase } from '../../../sql/core/db.ts'
import { migrate } from '../../../sql/core/migrate.ts'
import { foldCounts } from '../../../sql/traces/count-changes.ts'
import { createDatabase } from '../../support/database.ts'
import { countRows, readCounts } from '../../support/trace-counts.ts'

const ID = '00000000-0000-7000-8000-000000000001'

t.test('traces that were there before they were counted are counted once', async (t) => {
  const url = await createDatabase(t)
  const admin = postgres(url, { max: 1, onnotice: () => undefined })
  const { pathname } = new URL(url)
  const name = `${pathname.slice(1)}_before`
  await admin.unsafe(`create database ${name}`)
  const sql = openDatabase(url.replace(pathname, `/${name}`), { max: 4 })
  t.teardown(async () => {
    await sql.end({ timeout: 1 })
    await admin.unsafe(`drop database ${name} with (force)`)
    await admin.end()
  })
  const folder = t.testdir()
  for (const file of (await readdir('sql/migrations')).filter((each) => each < '0036')) {
    await copyFile(join('sql/migrations', file), join(folder, file))
  }
  await migrate(sql, { folder: pathToFileURL(`${folder}/`) })
  await sql`insert into organizations (id, name) values (${ID}, 'o')`
  await sql`insert into workspaces (org_id, id, name) values (${ID}, ${ID}, 'w')`
  await sql`insert into projects (org_id, id, workspace_id, name) values (${ID}, ${ID}, ${ID}, 'p')`

  /** As the release before stores them; as this one does, where a period is named. */
  async function store(from: number, to: number, period?: string) {
    const column = period ? sql`, period` : sql``
    const value = period ? sql`, ${period}::date` : sql``
    await sql`
      insert into traces (org_id, project_id, trace_id, agent_name, status, source_type, started_at,
        span_count, llm_call_count, tool_call_count, tool_error_count, input_tokens, output_tokens,
        content ${column})
      select ${ID}, ${ID}, n, 'agent' || n % 3, 'success', 'production',
        '2026-01-01'::timestamptz + make_interval(hours => n * 7), 0, 0, 0, 0, 0, 0, '' ${value}
      from generate_series(${from}::int, ${to}::int) as n`
    await sql`
      insert into verdicts (org_id, project_id, trace_id, verdict, needs_review, quality_avg, eval_verdict,
        reasons, policy_agent_name, policy_version ${column})
      select org_id, project_id, trace_id, 'keep', false, 0.25, 'pass', '[{"code": "score.good"}]', '', 0
        ${value}
      from traces where trace_id::int between ${from} and ${to} and trace_id::int % 2 = 0`
    await sql`
      insert into agent_edges (org_id, project_id, trace_id, parent, child, via, seen_at)
      select org_id, project_id, trace_id, agent_name, 'child', 'handoff', started_at from traces
      where trace_id::int between ${from} and ${to}`
  }

  async function check(message: string) {
    const counts = await readCounts(sql, ID)
    t.same(counts, await countRows(sql, ID), message)
    t.ok(counts.traces.length > 0 && counts.verdicts.length > 0 && counts.edges.length > 0)
  }

  await store(1, 20)
  await migrate(sql)
  await check('after the migration')
  await store(21, 30)
  await check('what the release before stores afterwards')
  while ((await foldCounts(sql, 7)) > 0);
  await migrate(sql, { finish: true })
  const [{ period }] = await sql<[{ period: string }]>`
    insert into trace_ids (org_id, project_id, trace_id, period)
    select ${ID}, ${ID}, n, storing_period() from generate_series(31, 40) as n
    returning period::text as period`
  await store(31, 40, period)
  await sql`update traces set agent_name = 'renamed' where trace_id::int % 5 = 0`
  await check('when the tables are divided')
})
