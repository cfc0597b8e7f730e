import { order } from '../../jobs/rules/core/order.ts'
import type { Settling, TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { arrayOf, arrayText, quoted, quotedBytes } from '../core/array-text.ts'
import type { Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { freeDroppedIds } from './periods.ts'
import type { TraceKey } from './traces.ts'

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

/** The types of the columns of a trace that is sent span by span; without them it is as any other. */
const SETTLING_TYPES = {
  made_of_spans: 'bool',
  settles_at: 'timestamptz',
} as const satisfies Record<keyof Settling, string>

/** The columns of a row as a request brings it, beside `org_id` and `project_id`. */
export const ROW_COLUMNS = [
  ...TRACE_COLUMNS,
  ...(Object.keys(SETTLING_TYPES) as (keyof Settling)[]),
]

/** A trace that was inserted, with the manifest it was tied to. */
export type InsertedTrace = TraceKey &
  Pick<TraceRow, 'manifest_id'> & {
    /** Its agent and the hash it names where no manifest has that; else null. */
    untied_agent: string | null
    untied_hash: string | null
  }

/**
 * Inserts the traces whose id their project does not have yet, each tied to the manifest it names (see
 * `joinNamedManifest`). Of two rows with one id the first is taken. Rows may belong to several projects
 * and organizations.
 */
export async function insertTraces(
  sql: Queryable,
  rows: readonly (TraceRow & Owner)[],
): Promise<readonly InsertedTrace[]> {
  const firsts = inKeyOrder(rows).filter((row, i, all) => i === 0 || !isSame(row, all[i - 1]))
  const columns = columnArrays(firsts)
  const insert = () => sql.unsafe<InsertedTrace[]>(INSERT, columns, { prepare: true })
  const inserted = await insert()
  if (inserted.length === firsts.length) return inserted
  const { count } = await sql.unsafe(FREE_IDS, columns.slice(0, 3), { prepare: true })
  return count === 0 ? inserted : [...inserted, ...(await insert())]
}

/** The parameters that `selectTied` reads rows from, an array a column. */
export function columnArrays(rows: readonly Partial<TraceRow & Owner>[]) {
  return COLUMNS.map(({ name, write }) =>
    arrayOf(
      rows.map((row) => row[name]),
      write as (value: unknown) => string,
    ),
  )
}

/**
 * SQL that joins row `t` of a trace with manifest `m`: the one of its agent that it names by id, else
 * by hash. Subqueries that stop at the first row, because a plain join might read all manifests.
 */
export const joinNamedManifest = `
  left join lateral (
    select id, manifest_hash from manifests
    where org_id = t.org_id and id = t.manifest_id
      and project_id = t.project_id and agent_name = t.agent_name
    union all
    select id, manifest_hash from manifests
    where org_id = t.org_id and project_id = t.project_id and agent_name = t.agent_name
      and manifest_hash = 'sha256:' || t.manifest_hash
    limit 1) m on true`

/** SQL for the members of `InsertedTrace`, of a row of `traces`. */
export const INSERTED = `org_id, project_id, trace_id, manifest_id,
  case when manifest_id is null and manifest_hash is not null then agent_name end as untied_agent,
  case when manifest_id is null then manifest_hash end as untied_hash`

/** SQL that is true when the id that row `t` names is none of the manifests of its agent. */
const namesUnknownManifest = 't.manifest_id is not null and t.manifest_id is distinct from m.id'

/**
 * SQL for the value of a column of row `t` once the row is joined with manifest `m`. An id that is no
 * manifest of the agent is kept as `metadata.unknown_manifest_id`.
 */
export function tiedColumn(name: string) {
  switch (name) {
    case 'manifest_id':
      return 'm.id'
    case 'manifest_hash':
      return 'coalesce(t.manifest_hash, substr(m.manifest_hash, 8))'
    case 'metadata':
      return `case when ${namesUnknownManifest}
        then t.metadata::jsonb || jsonb_build_object('unknown_manifest_id', t.manifest_id) else t.metadata::jsonb end`
    case 'made_of_spans':
      return 'coalesce(t.made_of_spans, false)'
    default:
      return `t.${name}`
  }
}

/** So that two transactions that insert the same ids wait for each other in one order. */
function inKeyOrder<Row extends TraceKey>(rows: readonly Row[]) {
  const keyOf = (row: Row) => `${row.org_id}${row.project_id}${row.trace_id}`
  return rows
    .map((row) => ({ row, key: keyOf(row) }))
    .sort((a, b) => order(a.key, b.key))
    .map(({ row }) => row)
}

function isSame(a: TraceKey, b: TraceKey | undefined) {
  return a.trace_id === b?.trace_id && a.project_id === b.project_id && a.org_id === b.org_id
}

/** How a value of a type is written as an element of an array; `String` writes numbers and uuids. */
const WRITERS: Readonly<Record<string, (value: never) => string>> = {
  text: quoted,
  timestamptz: (value: Date) => value.toISOString(),
  'text[]': (value: readonly string[]) => quoted(arrayText(value)),
  jsonb: (value: unknown) => quoted(jsonText(value)),
  bytea: quotedBytes,
}

const TYPES = { org_id: 'uuid', project_id: 'uuid', ...TRACE_TYPES, ...SETTLING_TYPES }
const COLUMNS = Object.entries(TYPES).map(([name, type]) => ({
  name: name as keyof (TraceRow & Owner),
  type,
  write: WRITERS[type] ?? String,
}))
/** Arrays of arrays may not be ragged, and arrays of JSON are slow to read; both are sent as texts. */
const AS_TEXT: ReadonlySet<string> = new Set(['text[]', 'jsonb'])
const NAMES = COLUMNS.map(({ name }) => name).join()
/**
 * SQL for the rows in `columnArrays`, tied to the manifests they name. One array a column: half the work
 * for the server of rows as JSON or as single parameters.
 */
export const selectTied = `
  select ${COLUMNS.map(({ name, type }) => `(${tiedColumn(name)})::${type} as ${name}`).join()}
  from unnest(${COLUMNS.map(({ type }, i) => `$${i + 1}::text::${AS_TEXT.has(type) ? 'text' : type}[]`).join()})
    as t (${NAMES}) ${joinNamedManifest}`
/** The keys of the rows in the first three of `columnArrays`. */
const KEYS = `unnest($1::text::uuid[], $2::text::uuid[], $3::text::text[])
  as t (org_id, project_id, trace_id)`
const FREE_IDS = freeDroppedIds(KEYS)
/**
 * Whoever gets an id in stores its trace. The condition is no join, for which the server would compare each
 * row with each id, because it does not know how many there are: `is true` has it look them up in a hash.
 */
const INSERT = `
  with new as (
    insert into trace_ids (org_id, project_id, trace_id, period)
    select org_id, project_id, trace_id, (select storing_period()) from ${KEYS}
    on conflict (org_id, project_id, trace_id) do nothing
    returning org_id, project_id, trace_id
  )
  insert into traces (${NAMES}, period)
  select ${COLUMNS.map(({ name }) => `t.${name}`).join()}, (select storing_period())
  from (${selectTied}) t
  where ((org_id, project_id, trace_id) in (select org_id, project_id, trace_id from new)) is true
  returning ${INSERTED}`

type Owner = Pick<TraceKey, 'org_id' | 'project_id'>
