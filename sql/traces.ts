import type { TraceRow } from '../jobs/rules/trace-row.ts'
import { arrayText } from './array-text.ts'
import type { Queryable } from './db.ts'
import { jsonText } from './db.ts'

/** What names a trace; ids are the clients', unique in a project. */
export interface TraceKey {
  org_id: string
  project_id: string
  trace_id: string
}

/** A trace with what is shown of its decision; the content is left out. */
export type ShownTraceRow = Omit<TraceRow, 'content' | 'content_hash' | 'malformed'> & {
  project_id: string
  project: string
  created_at: Date
  verdict: string | null
  needs_review: boolean | null
  eval_verdict: string | null
  eval_score: number | null
}

/** The types of the columns a trace is inserted with beside `org_id` and `project_id`. */
export const TRACE_TYPES = {
  trace_id: 'text',
  agent_name: 'text',
  manifest_id: 'uuid',
  manifest_hash: 'text',
  session_id: 'text',
  turn_index: 'int4',
  task_id: 'text',
  parent_trace_id: 'text',
  routing_id: 'text',
  user_id: 'text',
  environment: 'text',
  release: 'text',
  status: 'text',
  source_type: 'text',
  started_at: 'timestamptz',
  ended_at: 'timestamptz',
  user_input_preview: 'text',
  final_output_preview: 'text',
  error_code: 'text',
  error_message: 'text',
  tags: 'text[]',
  metadata: 'jsonb',
  session_metadata: 'jsonb',
  active_skills: 'jsonb',
  skills_offered_in_prompt: 'text[]',
  skills_loaded_by_agent: 'text[]',
  skills_delivered: 'text[]',
  tools_called: 'text[]',
  span_count: 'int4',
  llm_call_count: 'int4',
  tool_call_count: 'int4',
  tool_error_count: 'int4',
  input_tokens: 'int8',
  output_tokens: 'int8',
  cost_usd: 'float8',
  llm_latency_ms: 'float8',
  malformed: 'text',
  content_hash: 'bytea',
  content: 'bytea',
} as const satisfies Partial<Record<keyof TraceRow, string>>

/** The columns a trace is inserted with beside `org_id` and `project_id`; each is a member of `TraceRow`. */
export const TRACE_COLUMNS = Object.keys(TRACE_TYPES) as (keyof typeof TRACE_TYPES)[]

/**
 * Inserts the traces whose id their project does not have yet, and returns their keys. Of two rows
 * with one id the first is taken. Rows may belong to several projects and organizations.
 */
export async function insertTraces(
  sql: Queryable,
  rows: readonly (TraceRow & Owner)[],
): Promise<readonly TraceKey[]> {
  const ordered = inKeyOrder(rows)
  const values = COLUMNS.map(({ name, write }) => arrayText(ordered.map((row) => write(row[name]))))
  return sql.unsafe<TraceKey[]>(INSERT, values, { prepare: true })
}

/** What is told of traces that were there already. */
export async function listStoredTraces(sql: Queryable, keys: readonly TraceKey[]) {
  return sql<(TraceKey & StoredFacts)[]>`
    select t.org_id, t.project_id, t.trace_id, t.agent_name, t.span_count, t.llm_call_count, v.verdict
    from unnest(${keys.map((k) => k.org_id)}::uuid[], ${keys.map((k) => k.project_id)}::uuid[],
      ${keys.map((k) => k.trace_id)}::text[]) as k (org_id, project_id, trace_id)
    join traces t using (org_id, project_id, trace_id)
    ${withVerdict(sql)}`
}

/**
 * The traces of an id, one a project at most, the default project's first.
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
    join traces t on t.org_id = p.org_id and t.project_id = p.id
    ${withVerdict(sql)}
    where p.org_id = ${orgId} and t.trace_id = ${traceId}
      ${projectIds ? sql`and p.id = any(${projectIds as string[]}::uuid[])` : sql``}
    order by p.name = 'default' desc, p.created_at, p.id limit 2`
}

/** Of each id the projects that have a trace of it; where the default project is one of them, only that. */
export async function listTraceProjects(
  sql: Queryable,
  orgId: string,
  projectIds: readonly string[] | null,
  traceIds: readonly string[],
) {
  const rows = await sql<{ trace_id: string; ids: string[] }[]>`
    select t.trace_id, coalesce(array_agg(p.id) filter (where p.name = 'default'), array_agg(p.id)) as ids
    from projects p
    join traces t on t.org_id = p.org_id and t.project_id = p.id
    where p.org_id = ${orgId} and t.trace_id = any(${traceIds as string[]}::text[])
      ${projectIds ? sql`and p.id = any(${projectIds as string[]}::uuid[])` : sql``}
    group by t.trace_id`
  return new Map(rows.map(({ trace_id, ids }) => [trace_id, ids]))
}

/** Compressed spans and LLM calls of a trace; undefined when it is gone. */
export async function findTraceContent(sql: Queryable, key: TraceKey) {
  const [row] = await sql<{ content: Buffer }[]>`
    select content from traces where ${isTrace(sql, key)}`
  return row?.content
}

/** Which of these traces there are; they cannot be deleted before the transaction ends. */
export async function lockTraces(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const rows = await sql<{ trace_id: string }[]>`
    select trace_id from traces
    where org_id = ${orgId} and project_id = ${projectId}
      and trace_id = any(${traceIds as string[]}::text[])
    order by trace_id for key share`
  return new Set(rows.map(({ trace_id }) => trace_id))
}

/** Deletes a trace with its scores, decision and search row; false when it was not there. */
export async function deleteTrace(sql: Queryable, key: TraceKey) {
  const deleted = await sql`delete from traces where ${isTrace(sql, key)}`
  if (deleted.count === 0) return false
  await sql`delete from eval_scores where ${isTrace(sql, key)}`
  await sql`delete from verdicts where ${isTrace(sql, key)}`
  await sql`delete from trace_search where ${isTrace(sql, key)}`
  return true
}

/** The members of `ShownTraceRow`, of traces `t`, projects `p` and verdicts `v`. */
export function shownColumns(sql: Queryable) {
  return sql`t.project_id, p.name as project, t.trace_id, t.agent_name, t.manifest_id, t.manifest_hash,
    t.session_id, t.turn_index, t.task_id, t.parent_trace_id, t.routing_id, t.user_id, t.environment,
    t.release, t.status, t.source_type, t.started_at, t.ended_at, t.user_input_preview,
    t.final_output_preview, t.error_code, t.error_message, t.tags, t.metadata, t.session_metadata,
    t.active_skills, t.skills_offered_in_prompt, t.skills_loaded_by_agent, t.skills_delivered,
    t.tools_called, t.span_count, t.llm_call_count, t.tool_call_count, t.tool_error_count,
    t.input_tokens, t.output_tokens, t.cost_usd, t.llm_latency_ms, t.created_at, v.verdict,
    v.needs_review, v.eval_verdict, v.quality_avg as eval_score`
}

/** Joins verdict `v`, if there is one, to trace `t`. */
export function withVerdict(sql: Queryable) {
  return sql`left join verdicts v on v.org_id = t.org_id and v.project_id = t.project_id
    and v.trace_id = t.trace_id`
}

function isTrace(sql: Queryable, { org_id, project_id, trace_id }: TraceKey) {
  return sql`org_id = ${org_id} and project_id = ${project_id} and trace_id = ${trace_id}`
}

/** So that two transactions that insert the same ids wait for each other in one order. */
function inKeyOrder<Row extends TraceKey>(rows: readonly Row[]) {
  const order = (row: Row) => `${row.org_id}${row.project_id}${row.trace_id}`
  return rows
    .map((row) => ({ row, at: order(row) }))
    .sort((a, b) => (a.at < b.at ? -1 : Number(a.at > b.at)))
    .map(({ row }) => row)
}

/** How a value is written, so that Postgres reads it as a type. */
function writerOf(type: string): (value: unknown) => string | null {
  const write = WRITERS[type] ?? String
  return (value) => (value === null || value === undefined ? null : write(value))
}

const WRITERS: Readonly<Record<string, (value: unknown) => string>> = {
  timestamptz: (value) => (value as Date).toISOString(),
  'text[]': (value) => arrayText(value as string[]),
  jsonb: jsonText,
  bytea: (value) => `\\x${(value as Buffer).toString('hex')}`,
}

const COLUMNS = Object.entries({ org_id: 'uuid', project_id: 'uuid', ...TRACE_TYPES }).map(
  ([name, type]) => ({ name: name as keyof (TraceRow & Owner), type, write: writerOf(type) }),
)
/** Of arrays there is no array that may be ragged, and of JSON none that is quick to read. */
const AS_TEXT: ReadonlySet<string> = new Set(['text[]', 'jsonb'])
const NAMES = COLUMNS.map(({ name }) => name).join()
/** One array a column: half the work for the server of rows as JSON or as single parameters. */
const INSERT = `
  insert into traces (${NAMES})
  select ${COLUMNS.map(({ name, type }) => (AS_TEXT.has(type) ? `${name}::${type}` : name)).join()}
  from unnest(${COLUMNS.map(({ type }, i) => `$${i + 1}::text::${AS_TEXT.has(type) ? 'text' : type}[]`).join()})
    as t (${NAMES})
  on conflict (org_id, project_id, trace_id) do nothing
  returning org_id, project_id, trace_id`

type Owner = Pick<TraceKey, 'org_id' | 'project_id'>
interface StoredFacts {
  agent_name: string
  span_count: number
  llm_call_count: number
  verdict: string | null
}
