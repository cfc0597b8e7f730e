import type { Filters } from '../../jobs/rules/datasets/filters.ts'
import type { RecordedTrace } from '../../jobs/rules/replay/recorded-run.ts'
import type { TracePosition } from '../../jobs/rules/traces/trace-position.ts'
import { decodeContentInSteps } from '../../jobs/rules/traces/content.ts'
import type { Queryable } from '../core/db.ts'
import { filteredTraces } from '../datasets/trace-filters.ts'
import { isSameTrace, ofManifest } from '../traces/traces.ts'
import type { UnpreparedBatch } from './replay-batches.ts'
import type { Pause } from '../../jobs/rules/core/in-steps.ts'

/** A trace that a batch is to have a task of. */
export interface ChosenTrace {
  readonly trace_id: string
  /** Null for a trace that is gone. */
  readonly started_at: Date | null
  /** Compressed; 0 for a trace that is gone. */
  readonly content_bytes: number
  /** It was named, but is of another version than the batch's source. */
  readonly is_other: boolean
}

/** How many tasks a batch has by now, and the trace of the last one. */
export interface MadeTasks {
  readonly made: number
  readonly after: TracePosition | undefined
}

/** The traces that a batch has no tasks of yet: in the order in which they were named, or the newest first. */
export async function listChosenTraces(
  sql: Queryable,
  orgId: string,
  batch: UnpreparedBatch,
  made: MadeTasks,
): Promise<ChosenTrace[]> {
  return batch.filters
    ? listFiltered(sql, orgId, { ...batch, filters: batch.filters }, made)
    : listNamed(sql, orgId, batch, made)
}

async function listNamed(
  sql: Queryable,
  orgId: string,
  { project_id, source_manifest_id: source, trace_ids }: UnpreparedBatch,
  { made }: MadeTasks,
) {
  return sql<ChosenTrace[]>`
    select k.trace_id, t.started_at, coalesce(octet_length(t.content), 0) as content_bytes,
      ${source ? sql`t.trace_id is not null and ${ofManifest(sql, orgId, source)} is not true` : sql`false`} as is_other
    from unnest(${trace_ids}::text[]) with ordinality as k (trace_id, place)
    left join trace_ids i on i.org_id = ${orgId} and i.project_id = ${project_id}
      and i.trace_id = k.trace_id
    left join traces t on ${isSameTrace(sql, sql`t`, sql`i`)}
    where k.place > ${made} order by k.place`
}

async function listFiltered(
  sql: Queryable,
  orgId: string,
  batch: UnpreparedBatch & { readonly filters: Filters },
  { made, after }: MadeTasks,
) {
  const { project_id: projectId, source_manifest_id: source, filters } = batch
  const limit = Math.min(filters.max_rows ?? MAX_TASKS, MAX_TASKS) - made
  // Those of one verdict stand in its index by their start; those of several are found among all traces.
  const position = filters.verdicts.length === 1 ? sql`v` : sql`t`
  return sql<ChosenTrace[]>`
    select t.trace_id, t.started_at, octet_length(t.content) as content_bytes, false as is_other
    from ${filteredTraces(sql, { orgId, projectId, filters })}
      ${source ? sql`and ${ofManifest(sql, orgId, source)}` : sql``}
      ${after ? sql`and (${position}.started_at, ${position}.trace_id) < (${after.started_at}, ${after.trace_id})` : sql``}
    order by ${position}.started_at desc, ${position}.trace_id desc limit ${limit}`
}

/** A trace to be executed again, its content still compressed. */
export type RecordedRow = Omit<RecordedTrace, 'spans' | 'llm_calls'> & {
  readonly project_id: string
  readonly trace_id: string
  readonly content: Buffer
}

export interface TraceName {
  readonly project_id: string
  readonly trace_id: string
}

/** The name as a text that no other trace of the organization has. */
export function nameText({ project_id, trace_id }: TraceName) {
  return `${project_id} ${trace_id}`
}

/** In no order; those that are gone are missing. */
export async function listRecordedTraces(
  sql: Queryable,
  orgId: string,
  traces: readonly TraceName[],
) {
  return sql<RecordedRow[]>`
    select t.project_id, t.trace_id, t.agent_name, t.status, t.session_id, t.turn_index,
      t.active_skills, t.skills_loaded_by_agent, t.user_input_preview, t.final_output_preview,
      t.metadata, t.tags, t.content
    from ${named(sql, orgId, traces)} join traces t on ${isSameTrace(sql, sql`t`, sql`k`)}`
}

/**
 * Opens a trace with turns for others. A content that was damaged gives undefined, so that it costs only
 * its own task.
 */
export async function openRecorded(
  { content, ...row }: RecordedRow,
  pause: Pause,
): Promise<(RecordedTrace & TraceName) | undefined> {
  try {
    return { ...row, ...(await decodeContentInSteps(content, pause)) }
  } catch {
    return undefined
  }
}

/** How many compressed bytes the traces have, those that exist. */
export async function listContentBytes(
  sql: Queryable,
  orgId: string,
  traces: readonly TraceName[],
) {
  return sql<(TraceName & { content_bytes: number })[]>`
    select t.project_id, t.trace_id, octet_length(t.content) as content_bytes
    from ${named(sql, orgId, traces)} join traces t on ${isSameTrace(sql, sql`t`, sql`k`)}`
}

function named(sql: Queryable, orgId: string, traces: readonly TraceName[]) {
  return sql`(
    select distinct i.org_id, i.project_id, i.period, i.trace_id
    from unnest(${traces.map((trace) => trace.project_id)}::uuid[],
      ${traces.map((trace) => trace.trace_id)}::text[]) as named (project_id, trace_id)
    join trace_ids i using (project_id, trace_id) where i.org_id = ${orgId}) as k`
}

/** Tasks of a batch whose traces are chosen by filters. */
export const MAX_TASKS = 10_000
