import type { EvalVerdict } from '../../jobs/rules/core/verdicts.ts'
import type { Component } from '../../jobs/rules/manifests/manifest.ts'
import type { Queryable } from '../core/db.ts'
import { ofTraces } from '../traces/traces.ts'
import type { AgentKey } from './manifests.ts'

/** Queries for what depends on the traces and components of an agent. */

/** The verdict that the scores alone give each of these traces; a trace without scores is missing. */
export async function listEvalVerdicts(
  sql: Queryable,
  { orgId, projectId }: AgentKey,
  traceIds: readonly string[],
) {
  const rows = await sql<{ trace_id: string; eval_verdict: EvalVerdict }[]>`
    select trace_id, eval_verdict from verdicts
    where ${ofTraces(sql, orgId, projectId, traceIds)}
      and eval_verdict is not null`
  return new Map(rows.map(({ trace_id, eval_verdict }) => [trace_id, eval_verdict]))
}

/** Names of the evaluators, other than the built-in ones, that scored any of these traces. */
export async function listScoringEvaluators(
  sql: Queryable,
  { orgId, projectId }: AgentKey,
  traceIds: readonly string[],
) {
  const rows = await sql<{ name: string }[]>`
    select distinct name from eval_scores
    where ${ofTraces(sql, orgId, projectId, traceIds)}
      and source_kind <> 'builtin' and category = 'quality'`
  return rows.map(({ name }) => name)
}

/** Each dataset whose current version has rows of these traces, with that version and the count. */
export async function countDatasetRows(
  sql: Queryable,
  { orgId, projectId }: AgentKey,
  traceIds: readonly string[],
) {
  return sql<{ version_id: string; name: string; rows: number }[]>`
    select v.id as version_id, d.name, count(*) as rows
    from dataset_version_rows r
    join dataset_versions v on v.org_id = r.org_id and v.id = r.version_id
      and v.ready_at is not null and not v.restored
    join datasets d on d.org_id = v.org_id and d.id = v.dataset_id
    where r.org_id = ${orgId} and d.project_id = ${projectId}
      and r.trace_id = any(${traceIds}::text[])
      and not exists (
        select from dataset_versions newer
        where newer.org_id = v.org_id and newer.dataset_id = v.dataset_id
          and newer.ready_at is not null and newer.version_number > v.version_number)
    group by v.id, d.name`
}

/** Components of a type, by these names, in the active versions of the project's other agents. */
export async function listComponentsElsewhere(
  sql: Queryable,
  { orgId, projectId, agentName }: AgentKey,
  type: Component['component_type'],
  names: readonly string[],
) {
  return sql<(Component & { agent_name: string })[]>`
    select m.agent_name, c.component_type, c.component_name, c.component_version, c.content_hash,
      c.schema_json
    from manifest_components c
    join manifests m on m.org_id = c.org_id and m.id = c.manifest_id
    where c.org_id = ${orgId} and m.project_id = ${projectId} and m.status = 'active'
      and m.agent_name <> ${agentName} and c.component_type = ${type}
      and c.component_name = any(${names}::text[])
    order by m.agent_name, c.component_name`
}
