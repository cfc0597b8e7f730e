import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
import type { CompatReason } from '../../jobs/rules/manifests/compat-decision.ts'
import { needsContent, recordedTexts } from '../../jobs/rules/replay/recorded-texts.ts'
import type { Previews, RecordedTexts } from '../../jobs/rules/replay/recorded-texts.ts'
import { contentBatches } from '../../jobs/rules/traces/content-batches.ts'
import { decodeContent } from '../../jobs/rules/traces/trace-row.ts'
import type { Queryable } from '../core/db.ts'
import { inProjects } from '../core/projects.ts'
import { withVerdict } from '../traces/traces.ts'
import type { TraceKey } from '../traces/traces.ts'

/** Which traces are exported, or make their sessions be. */
export interface ExportFilter {
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly agent_name?: string | undefined
  readonly verdict: Verdict
}

export interface ExportedTrace extends RecordedTexts {
  readonly project_id: string
  readonly trace_id: string
  readonly agent_name: string
  readonly manifest_id: string | null
  readonly session_id: string | null
  readonly turn_index: number | null
  readonly created_at: Date
  /** Null where the trace is still running or was not judged yet. */
  readonly verdict: Verdict | null
  /** How it fits the manifest that the verdict was decided for; empty where it was not compared. */
  readonly reasons: readonly CompatReason[]
}

/** The newest traces of a verdict, newest first. */
export async function listExported(
  sql: Queryable,
  orgId: string,
  filter: ExportFilter,
  limit: number,
) {
  // Read project by project, so that a common verdict follows the index of the newest traces.
  return sql<TraceKey[]>`
    select n.org_id, n.project_id, n.trace_id
    from projects p cross join lateral (
      select t.org_id, t.project_id, t.trace_id, t.started_at ${decided(sql, filter)}
      order by t.started_at desc, t.trace_id desc limit ${limit}
    ) n
    where p.org_id = ${orgId} ${inProjects(sql, sql`p.id`, filter.projectIds)}
    order by n.started_at desc, n.trace_id desc, n.project_id desc limit ${limit}`
}

export interface ExportedSession {
  readonly project_id: string
  readonly session_id: string
  /** That of the newest trace that makes the session be exported. */
  readonly agent_name: string
}

/** The sessions of the newest traces of a verdict, newest first. */
export async function listExportedSessions(
  sql: Queryable,
  orgId: string,
  filter: ExportFilter,
  limit: number,
) {
  return sql<ExportedSession[]>`
    select n.project_id, n.session_id, n.agent_name
    from projects p cross join lateral (
      select t.project_id, t.session_id, max(t.started_at) as newest,
        (array_agg(t.agent_name order by t.started_at desc, t.trace_id desc))[1] as agent_name
      ${decided(sql, filter)} and t.session_id is not null
      group by t.project_id, t.session_id order by newest desc, t.session_id desc limit ${limit}
    ) n
    where p.org_id = ${orgId} ${inProjects(sql, sql`p.id`, filter.projectIds)}
    order by n.newest desc, n.session_id desc, n.project_id desc limit ${limit}`
}

export interface SessionTurn extends TraceKey {
  /** It makes the session be exported. */
  readonly is_trigger: boolean
  /** Of the whole session, however many are listed. */
  readonly total_turns: number
  readonly trigger_count: number
}

/** The turns of a session in their order: by index, those without one last, then by start. */
export async function listSessionTurns(
  sql: Queryable,
  orgId: string,
  { project_id, session_id }: ExportedSession,
  { verdict, agent_name }: ExportFilter,
  limit: number,
) {
  return sql<SessionTurn[]>`
    select s.*, count(*) over () as total_turns,
      count(*) filter (where s.is_trigger) over () as trigger_count
    from (
      select t.org_id, t.project_id, t.trace_id, t.turn_index, t.started_at,
        v.verdict is not distinct from ${verdict}
          and ${agent_name === undefined ? sql`true` : sql`t.agent_name = ${agent_name}`} as is_trigger
      from traces t ${withVerdict(sql)}
      where t.org_id = ${orgId} and t.project_id = ${project_id} and t.session_id = ${session_id}
    ) s
    order by s.turn_index nulls last, s.started_at, s.trace_id limit ${limit}`
}

/**
 * Traces in the order of their keys, with what was asked and answered in full; those that are gone are left
 * out. Few contents are in memory at once, and one of them decompressed.
 * @param pause is awaited between contents
 */
export async function* openExported(
  sql: Queryable,
  orgId: string,
  keys: readonly TraceKey[],
  pause: () => Promise<void>,
): AsyncGenerator<ExportedTrace> {
  for (let start = 0; start < keys.length; start += TRACES_A_READ) {
    const rows = await listTraces(sql, orgId, keys.slice(start, start + TRACES_A_READ))
    for await (const batch of contentBatches([rows], OPENED_AT_ONCE)) {
      const contents = await listContents(sql, orgId, batch.filter(needsContent))
      for (const { content_bytes: _, user_input_preview, final_output_preview, ...row } of batch) {
        const content = contents.get(nameOf(row))
        const previews = { user_input_preview, final_output_preview }
        yield { ...row, ...recordedTexts(previews, content && decodeContent(content)) }
        await pause()
      }
    }
  }
}

/** From traces `t` of project `p` that have the verdict. */
function decided(sql: Queryable, { agent_name, verdict }: ExportFilter) {
  return sql`from verdicts v
    join traces t on t.org_id = v.org_id and t.project_id = v.project_id and t.trace_id = v.trace_id
    where v.org_id = p.org_id and v.project_id = p.id and t.org_id = p.org_id and t.project_id = p.id
      and v.verdict = ${verdict}
      ${agent_name === undefined ? sql`` : sql`and t.agent_name = ${agent_name}`}`
}

async function listTraces(sql: Queryable, orgId: string, keys: readonly TraceKey[]) {
  return sql<(Omit<ExportedTrace, keyof RecordedTexts> & Previews & { content_bytes: number })[]>`
    select t.project_id, t.trace_id, t.agent_name, t.manifest_id, t.session_id, t.turn_index,
      t.created_at, t.user_input_preview, t.final_output_preview, v.verdict,
      octet_length(t.content) as content_bytes, coalesce(e.reasons, '[]') as reasons
    from ${ofKeys(sql, orgId, keys)}
    ${withVerdict(sql)}
    left join trace_examinations e on e.org_id = t.org_id and e.project_id = t.project_id
      and e.trace_id = t.trace_id and e.target_manifest_id = v.target_manifest_id
    order by k.place`
}

async function listContents(
  sql: Queryable,
  orgId: string,
  keys: readonly Omit<TraceKey, 'org_id'>[],
) {
  if (keys.length === 0) return new Map<string, Buffer>()
  const rows = await sql<{ project_id: string; trace_id: string; content: Buffer }[]>`
    select t.project_id, t.trace_id, t.content from ${ofKeys(sql, orgId, keys)}`
  return new Map(rows.map((row) => [nameOf(row), row.content]))
}

/** Keys `k` with their `place`, and their traces `t`. */
function ofKeys(sql: Queryable, orgId: string, keys: readonly Omit<TraceKey, 'org_id'>[]) {
  return sql`unnest(${keys.map(({ project_id }) => project_id)}::uuid[],
      ${keys.map(({ trace_id }) => trace_id)}::text[]) with ordinality as k (project_id, trace_id, place)
    join traces t on t.org_id = ${orgId} and t.project_id = k.project_id and t.trace_id = k.trace_id`
}

function nameOf({ project_id, trace_id }: Omit<TraceKey, 'org_id'>) {
  return `${project_id} ${trace_id}`
}

const TRACES_A_READ = 100
const OPENED_AT_ONCE = { traces: 20, bytes: 4 << 20 }
