import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
import type { CompatReason } from '../../jobs/rules/manifests/compat-decision.ts'
import { readOutput } from '../../jobs/rules/replay/recorded-output.ts'
import { readRequest } from '../../jobs/rules/replay/recorded-run.ts'
import { contentBatches } from '../../jobs/rules/traces/content-batches.ts'
import type { Queryable, Sql } from '../core/db.ts'
import { listTraceNames } from '../traces/trace-lists.ts'
import { isSameTrace, withVerdict } from '../traces/traces.ts'
import { listRecordedTraces, nameText, openRecorded } from './recorded-traces.ts'
import type { RecordedRow, TraceName } from './recorded-traces.ts'
import type { Pause } from '../../jobs/rules/core/in-steps.ts'

/** Which traces are exported, or make their sessions be. */
export interface ExportFilter {
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly agent_name?: string | undefined
  readonly verdict: Verdict
}

export interface ExportedTrace {
  readonly project_id: string
  readonly trace_id: string
  readonly agent_name: string
  readonly manifest_id: string | null
  readonly session_id: string | null
  readonly turn_index: number | null
  readonly created_at: Date
  /** In full where it is known; null where the trace does not tell, or was damaged. */
  readonly user_input: string | null
  readonly original_output: string | null
  /** Null where the trace is still running or was not judged yet. */
  readonly verdict: Verdict | null
  /** How it fits the manifest that the verdict was decided for; empty where it was not compared. */
  readonly reasons: readonly CompatReason[]
}

/** The newest traces of a verdict, newest first. */
export async function listExported(
  sql: Sql,
  orgId: string,
  filter: ExportFilter,
  limit: number,
): Promise<readonly TraceName[]> {
  return listTraceNames(sql, orgId, filter, limit)
}

export interface ExportedSession {
  readonly project_id: string
  readonly session_id: string
  /** That of the newest trace that makes the session be exported. */
  readonly agent_name: string
}

/**
 * The sessions of the newest traces of a verdict, newest first. No more than `MAX_TRIGGERS` traces are
 * looked at, so that few sessions among many traces take no longer.
 * @param first how many traces are looked at before more are
 */
export async function listExportedSessions(
  sql: Sql,
  orgId: string,
  filter: ExportFilter,
  limit: number,
  first = limit * FEW_TURNS,
): Promise<readonly ExportedSession[]> {
  for (let window = first; ; window *= MORE) {
    const wanted = Math.min(window, MAX_TRIGGERS)
    const names = await listTraceNames(sql, orgId, filter, wanted)
    const sessions = await listSessions(sql, orgId, names, limit)
    // What lies behind the window is older than all that was found in it.
    if (sessions.length === limit || names.length < wanted || wanted === MAX_TRIGGERS) {
      return sessions
    }
  }
}

/** How many of the newest traces of a verdict make their sessions be exported. */
export const MAX_TRIGGERS = 10_000
/** A session is first taken to have so many traces of the verdict. */
const FEW_TURNS = 4
/** By which factor more traces are looked at where those had too few sessions. */
const MORE = 5

/** The sessions of these traces, those of the newest traces first. */
async function listSessions(
  sql: Queryable,
  orgId: string,
  names: readonly TraceName[],
  limit: number,
) {
  return sql<ExportedSession[]>`
    select t.project_id, t.session_id,
      (array_agg(t.agent_name order by t.started_at desc, t.trace_id desc))[1] as agent_name
    from unnest(${names.map(({ project_id }) => project_id)}::uuid[],
      ${names.map(({ trace_id }) => trace_id)}::text[]) as k (project_id, trace_id)
    join trace_ids i on i.org_id = ${orgId} and i.project_id = k.project_id and i.trace_id = k.trace_id
    join traces t on ${isSameTrace(sql, sql`t`, sql`i`)}
    where t.session_id is not null
    group by t.project_id, t.session_id
    order by max(t.started_at) desc, t.session_id desc, t.project_id desc limit ${limit}`
}

export interface SessionTurn extends TraceName {
  readonly session_id: string
  /** It makes the session be exported. */
  readonly is_trigger: boolean
  /** Of the whole session, however many are listed. */
  readonly total_turns: number
  readonly trigger_count: number
}

/**
 * The turns of sessions, one session after the other, and of each in their order: by index, those without
 * one last, then by start.
 * @param limit of each session
 */
export async function listSessionTurns(
  sql: Queryable,
  orgId: string,
  sessions: readonly ExportedSession[],
  { verdict, agent_name }: ExportFilter,
  limit: number,
) {
  return sql<SessionTurn[]>`
    select s.project_id, s.trace_id, s.session_id, s.is_trigger, s.total_turns, s.trigger_count
    from unnest(${sessions.map(({ project_id }) => project_id)}::uuid[],
      ${sessions.map(({ session_id }) => session_id)}::text[])
      with ordinality as k (project_id, session_id, place)
    cross join lateral (
      select *, count(*) over () as total_turns, count(*) filter (where is_trigger) over () as trigger_count
      from (
        select t.project_id, t.trace_id, t.session_id, t.turn_index, t.started_at,
          ${agent_name === undefined ? sql`true` : sql`t.agent_name = ${agent_name}`} and exists (
            select 1 from verdicts v where ${isSameTrace(sql, sql`v`, sql`t`)}
              and v.verdict = ${verdict}) as is_trigger
        from traces t
        where t.org_id = ${orgId} and t.project_id = k.project_id and t.session_id = k.session_id
      ) turns
      order by turn_index nulls last, started_at, trace_id limit ${limit}) s
    order by k.place, s.turn_index nulls last, s.started_at, s.trace_id`
}

/**
 * Traces in the order of their names; those that are gone are left out. Few contents are in memory at once,
 * and one of them decompressed.
 * @param pause is awaited between contents, and parts of large ones
 */
export async function* openExported(
  sql: Queryable,
  orgId: string,
  names: readonly TraceName[],
  pause: Pause,
): AsyncGenerator<ExportedTrace> {
  for (let start = 0; start < names.length; start += TRACES_A_READ) {
    const rows = await listTraces(sql, orgId, names.slice(start, start + TRACES_A_READ))
    for await (const batch of contentBatches([rows], OPENED_AT_ONCE)) {
      const recorded = await listRecordedTraces(sql, orgId, batch)
      const recordedBy = new Map(recorded.map((trace) => [nameText(trace), trace]))
      for (const { content_bytes: _, ...row } of batch) {
        const trace = recordedBy.get(nameText(row))
        if (trace) yield { ...row, ...(await readTexts(trace, pause)) }
        await pause()
      }
    }
  }
}

async function readTexts(recorded: RecordedRow, pause: Pause) {
  const trace = await openRecorded(recorded, pause)
  return {
    user_input: trace ? readRequest(trace).text : null,
    original_output: trace ? readOutput(trace) : null,
  }
}

async function listTraces(sql: Queryable, orgId: string, names: readonly TraceName[]) {
  return sql<ClosedTrace[]>`
    select t.project_id, t.trace_id, t.agent_name, t.manifest_id, t.session_id, t.turn_index,
      t.created_at, v.verdict, octet_length(t.content) as content_bytes,
      coalesce(e.reasons, '[]') as reasons
    from unnest(${names.map(({ project_id }) => project_id)}::uuid[],
      ${names.map(({ trace_id }) => trace_id)}::text[]) with ordinality as k (project_id, trace_id, place)
    join trace_ids i on i.org_id = ${orgId} and i.project_id = k.project_id and i.trace_id = k.trace_id
    join traces t on ${isSameTrace(sql, sql`t`, sql`i`)}
    ${withVerdict(sql)}
    left join trace_examinations e on e.org_id = t.org_id and e.project_id = t.project_id
      and e.trace_id = t.trace_id and e.target_manifest_id = v.target_manifest_id
    order by k.place`
}

type ClosedTrace = Omit<ExportedTrace, 'user_input' | 'original_output'> & {
  readonly content_bytes: number
}

const TRACES_A_READ = 100
const OPENED_AT_ONCE = { traces: TRACES_A_READ, bytes: 4 << 20 }
