import { randomUUIDv7 } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import postgres from 'postgres'
import type { Test } from 'tap'
import { migrateAll } from '../../ops/migrate.ts'
import { migrate } from '../../sql/core/migrate.ts'
import { serverUrl } from './cluster.ts'
import { openMigrator } from './migrators.ts'
import { plantMigrations } from './planted-migrations.ts'
import { makeOrganization } from './service.ts'
import { emptyRow } from './stored-traces.ts'

/** The newest schema that knows no periods. */
const OLD_SCHEMA = 35

/**
 * A database that the release before made, with an organization and traces `old 0` to `old <count - 1>`
 * of it, which are judged; and to which this release has been rolled out, but is not finished.
 */
export async function createUndivided(t: Test, count: number) {
  const server = await serverUrl()
  const admin = postgres(server, { max: 1, onnotice: () => undefined })
  const name = `adl_test_${process.pid}_undivided_${randomUUIDv7().slice(-6)}`
  await admin.unsafe(`create database ${name}`)
  t.teardown(async () => {
    await admin.unsafe(`drop database ${name} with (force)`)
    await admin.end()
  })
  const url = Object.assign(new URL(server), { pathname: `/${name}` }).href
  const sql = openMigrator(t, url)
  const folder = await plantMigrations(t, {})
  for (const file of await readdir(folder)) {
    if (Number(file.slice(0, 4)) > OLD_SCHEMA) await rm(new URL(file, folder))
  }
  await migrate(sql, { folder })
  const org = await makeOrganization(sql, 'enterprise')
  await storeOld(sql, org, 0, count)
  const waiting = await migrateAll(url, { warn: () => undefined })
  return { url, sql, org, waiting }
}

/** Stores traces as the release before does, which knows no periods. */
export async function storeOld(
  sql: postgres.Sql<{ int8: number }>,
  { orgId, projectId }: { orgId: string; projectId: string },
  from: number,
  to: number,
) {
  await sql.begin(async (tx) => {
    await tx`
      insert into traces (org_id, project_id, trace_id, agent_name, status, source_type, started_at,
        span_count, llm_call_count, tool_call_count, tool_error_count, input_tokens, output_tokens,
        user_input_preview, content)
      select ${orgId}, ${projectId}, 'old ' || i, 'agent', 'success', 'production',
        '2026-01-01T00:00:00Z'::timestamptz + make_interval(mins => i), 0, 0, 0, 0, 0, 0, 'hello ' || i,
        ${emptyRow('old').content}
      from generate_series(${from}::int, ${to - 1}::int) i
      on conflict do nothing`
    await tx`
      insert into eval_scores (org_id, project_id, trace_id, name, source, score_id, value, data_type,
        category, source_kind)
      select ${orgId}, ${projectId}, 'old ' || i, 'reward', 'custom', gen_random_uuid(), 0.5, 'numeric',
        'quality', 'custom'
      from generate_series(${from}::int, ${to - 1}::int) i`
    await tx`
      insert into verdicts (org_id, project_id, trace_id, verdict, needs_review, quality_avg,
        eval_verdict, reasons, policy_agent_name, policy_version)
      select ${orgId}, ${projectId}, 'old ' || i, 'keep', false, 0.5, 'review', '[{"code": "score.good"}]',
        '', 0
      from generate_series(${from}::int, ${to - 1}::int) i`
    await tx`
      insert into trace_search (org_id, project_id, trace_id, document, has_stems)
      select ${orgId}, ${projectId}, 'old ' || i, search_document('hello ' || i), true
      from generate_series(${from}::int, ${to - 1}::int) i`
  })
}
