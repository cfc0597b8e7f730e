import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { Fragment, Queryable, Transaction } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'

/** What names a trace; ids are the clients', unique in a project. */
export interface TraceKey {
  org_id: string
  project_id: string
  trace_id: string
}

/** A key as one text, to find it in a map. */
export function keyText({ org_id, project_id, trace_id }: TraceKey) {
  return `${org_id} ${project_id} ${trace_id}`
}

/** A trace with what is shown of its decision; the content is left out. */
export type ShownTraceRow = Omit<TraceRow, 'content' | 'content_hash' | 'malformed'> & {
  project_id: string
  project: string
  /** Of its manifest; null where it is tied to none. */
  version_label: string | null
  /** How often it was changed. */
  revision: number
  created_at: Date
  /** Hex of the SHA-256 of its conversation; null without one. */
  content_hash: string | null
  verdict: string | null
  reason_code: string | null
  needs_review: boolean | null
  eval_verdict: string | null
  eval_score: number | null
}

/** What an answer says about traces that were stored before. */
export async function listStoredTraces(sql: Queryable, keys: readonly TraceKey[]) {
  return sql<(TraceKey & StoredFacts)[]>`
    select t.org_id, t.project_id, t.trace_id, t.agent_name, t.span_count, t.llm_call_count, v.verdict
    from ${keysOf(sql, keys)}
    join traces t using (org_id, project_id, period, trace_id)
    ${withVerdict(sql)}`
}

/**
 * The traces with an id, at most one a project; the default project's comes first.
 * @param projectIds where to look; null looks in all projects of the organization
 */
export async function findTraces(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  traceId: string,
) {
  return sql<ShownTraceRow[]>`
    select ${shownColumns(sql)}
    from projects p
    join trace_ids k on k.org_id = p.org_id and k.project_id = p.id
    join traces t on ${isSameTrace(sql, sql`t`, sql`k`)}
    ${withVerdict(sql)}
    where p.org_id = ${orgId} and k.trace_id = ${traceId}
      ${inProjects(sql, sql`p.id`, projectIds)}
    order by p.name = 'default' desc, p.created_at, p.id limit 2`
}

/** For each id, the projects that have a trace with it; only the default project when it is one of them. */
export async function listTraceProjects(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  traceIds: readonly string[],
) {
  const rows = await sql<{ trace_id: string; ids: string[] }[]>`
    select k.trace_id, coalesce(array_agg(p.id) filter (where p.name = 'default'), array_agg(p.id)) as ids
    from projects p
    join trace_ids k on k.org_id = p.org_id and k.project_id = p.id
    where p.org_id = ${orgId} and k.trace_id = any(${traceIds}::text[])
      ${inProjects(sql, sql`p.id`, projectIds)}
    group by k.trace_id`
  return new Map(rows.map(({ trace_id, ids }) => [trace_id, ids]))
}

/** The agents of those of these traces that the project has, by trace id. */
export async function listTraceAgents(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const rows = await sql<{ trace_id: string; agent_name: string }[]>`
    select trace_id, agent_name from traces where ${ofTraces(sql, orgId, projectId, traceIds)}`
  return new Map(rows.map(({ trace_id, agent_name }) => [trace_id, agent_name]))
}

/** Those of these traces that are stored as running. */
export async function listRunning(sql: Queryable, keys: readonly TraceKey[]) {
  if (keys.length === 0) return []
  return sql<TraceKey[]>`
    select t.org_id, t.project_id, t.trace_id
    from ${keysOf(sql, keys)}
    join traces t using (org_id, project_id, period, trace_id)
    where t.status = 'running'`
}

/** Compressed spans and LLM calls of a trace; undefined when it is gone. */
export async function findTraceContent(sql: Queryable, key: TraceKey) {
  const [row] = await sql<{ content: Buffer }[]>`
    select content from traces where ${ofTrace(sql, key)}`
  return row?.content
}

/**
 * Which of these traces exist; nobody changes, judges or deletes them before the transaction ends. Others
 * may hold them so, too.
 */
export async function lockTraces(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const locked = await sql<{ trace_id: string }[]>`
    select trace_id from traces where ${ofTraces(sql, orgId, projectId, traceIds)}
    order by trace_id for share`
  return new Set(locked.map(({ trace_id }) => trace_id))
}

/** Deletes traces, which the transaction has locked, with their scores, decisions and search rows. */
export async function deleteTraces(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const periods = await tx<{ period: string; ids: string[] }[]>`
    select period::text as period, array_agg(trace_id) as ids from trace_ids
    where ${aboutTraces(tx, orgId, projectId, traceIds)} group by trace_ids.period`
  // A period at a time: where they are joined with their ids, all scores of the project may be read.
  for (const { period, ids } of periods) {
    const gone = tx`${aboutTraces(tx, orgId, projectId, ids)} and period = ${period}`
    await tx`delete from eval_scores where ${gone}`
    await tx`delete from verdicts where ${gone}`
    await tx`delete from trace_search where ${gone}`
    // Last, because their ids go with them, and what else was found of them goes with the ids.
    await tx`delete from traces where ${gone}`
  }
}

/** The members of `ShownTraceRow`, of traces `t`, projects `p` and verdicts `v`. */
export function shownColumns(sql: Queryable) {
  return sql`t.project_id, p.name as project, t.trace_id, t.agent_name, t.manifest_id,
    (select 'v' || m.version_number from manifests m
      where m.org_id = t.org_id and m.id = t.manifest_id) as version_label,
    t.manifest_hash, t.session_id, t.turn_index, t.task_id, t.parent_trace_id, t.routing_id, t.user_id,
    t.environment, t.release, t.status, t.source_type, t.started_at, t.ended_at, t.user_input_preview,
    t.final_output_preview, t.error_code, t.error_message, t.tags, t.metadata, t.session_metadata,
    t.active_skills, t.skills_offered_in_prompt, t.skills_loaded_by_agent, t.skills_delivered,
    t.tools_called, t.span_count, t.llm_call_count, t.tool_call_count, t.tool_error_count,
    t.input_tokens, t.output_tokens, t.cost_usd, t.llm_latency_ms, t.revision, t.created_at,
    encode(t.content_hash, 'hex') as content_hash, v.verdict, v.reason_code, v.needs_review,
    v.eval_verdict, v.quality_avg as eval_score`
}

/** Joins verdict `v`, if there is one, to trace `t`. */
export function withVerdict(sql: Queryable) {
  return sql`left join verdicts v on ${isSameTrace(sql, sql`v`, sql`t`)}`
}

/**
 * The condition that rows of two tables are of one trace. It names the period, so that of a partitioned
 * table only the part is read that the trace is in.
 */
export function isSameTrace(sql: Queryable, one: Fragment, other: Fragment) {
  return sql`${one}.org_id = ${other}.org_id and ${one}.project_id = ${other}.project_id
    and ${one}.period = ${other}.period and ${one}.trace_id = ${other}.trace_id`
}

/** The condition that a row of a partitioned table is of this trace. */
export function ofTrace(sql: Queryable, key: TraceKey) {
  return sql`${aboutTrace(sql, key)}
    and period = (select k.period from trace_ids k where k.org_id = ${key.org_id}
      and k.project_id = ${key.project_id} and k.trace_id = ${key.trace_id})`
}

/**
 * The condition that a row of a partitioned table is of one of these traces.
 * @param row what names the table, with a dot, where several have such columns
 */
export function ofTraces(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
  row = sql``,
) {
  return sql`${row}org_id = ${orgId} and ${row}project_id = ${projectId}
    and (${row}period, ${row}trace_id) in (
      select k.period, k.trace_id from trace_ids k
      where k.org_id = ${orgId} and k.project_id = ${projectId}
        and k.trace_id = any(${traceIds}::text[]))`
}

/** The condition that a row of another table is about this trace. */
export function aboutTrace(sql: Queryable, { org_id, project_id, trace_id }: TraceKey) {
  return sql`org_id = ${org_id} and project_id = ${project_id} and trace_id = ${trace_id}`
}

/** The condition that a row of another table is about one of these traces. */
export function aboutTraces(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return sql`org_id = ${orgId} and project_id = ${projectId} and trace_id = any(${traceIds}::text[])`
}

/**
 * The condition that trace `t` is of a manifest: tied to it, or not tied yet and of its agent and naming
 * its hash, as traces do that came before the manifest.
 */
export function ofManifest(
  sql: Queryable,
  orgId: string | Fragment,
  manifestId: string | Fragment,
) {
  return sql`(t.manifest_id = ${manifestId} or ${ofUntied(sql, orgId, manifestId)})`
}

/** The condition that trace `t` is of a manifest, but not tied to it yet. */
export function ofUntied(sql: Queryable, orgId: string | Fragment, manifestId: string | Fragment) {
  return sql`t.manifest_id is null
    and (t.project_id, t.agent_name, t.manifest_hash) = (
      select m.project_id, m.agent_name, substr(m.manifest_hash, 8) from manifests m
      where m.org_id = ${orgId} and m.id = ${manifestId})`
}

/**
 * The newest `limit` traces of a manifest, as a table in the order of `started_at desc, trace_id desc`, which is read
 * no further than it is asked for.
 * @param columns of traces `t`, `started_at` and `trace_id` among them
 * @param where what else they have to be; names their organization, project and agent
 */
export function newestOfManifest(
  sql: Queryable,
  { orgId, manifestId }: { orgId: string; manifestId: string | Fragment },
  { columns, where, limit }: { columns: Fragment; where: Fragment; limit: number },
) {
  // Tied and untied ones apart: each has an index in this order.
  const some = (isOfManifest: Fragment) => sql`
    (select ${columns} from traces t
    where ${where} and ${isOfManifest}
    order by t.started_at desc, t.trace_id desc limit ${limit})`
  return sql`(
      ${some(sql`t.manifest_id = ${manifestId}`)}
      union all ${some(ofUntied(sql, orgId, manifestId))}
      order by started_at desc, trace_id desc limit ${limit})`
}

/** Those of the keys that are there, as rows `k` with the period. */
export function keysOf(sql: Queryable, keys: readonly TraceKey[]) {
  return sql`(
    select org_id, project_id, trace_id, period
    from unnest(${keys.map((k) => k.org_id)}::uuid[], ${keys.map((k) => k.project_id)}::uuid[],
      ${keys.map((k) => k.trace_id)}::text[]) as named (org_id, project_id, trace_id)
    join trace_ids using (org_id, project_id, trace_id)) as k`
}

interface StoredFacts {
  agent_name: string
  span_count: number
  llm_call_count: number
  verdict: string | null
}
