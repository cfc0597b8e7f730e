import type { TracePosition } from '../../jobs/rules/traces/trace-position.ts'
import type { UsingTrace } from '../../jobs/rules/traces/trace-use.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { ofManifest, ofTraces } from '../traces/traces.ts'

/**
 * A finished trace with its content still compressed, and the manifests it refers to. It has only one
 * character of the user's input, and of the metadata only the marks that decide whether it can be
 * replayed.
 */
export type ClosedTraceRow = Omit<UsingTrace, 'spans' | 'llm_calls'> & {
  trace_id: string
  started_at: Date
  /** How often it was changed until it was read. */
  revision: number
  content: Buffer
  /** The manifest it was recorded under; null when it names none, or none of its agent's. */
  manifest_id: string | null
  /** The manifest it names, by id or hash; null for none. */
  named_manifest: string | null
  /** The version that is active now; null before the first. */
  active_manifest_id: string | null
  /** It ended the thread that examines traces, and is not opened there again. */
  given_up: boolean
}

export interface ClosedTraceFilter {
  readonly orgId: string
  readonly projectId: string
  readonly traceIds?: readonly string[]
  /** All traces of an agent that are tied to a manifest, or only those of one. */
  readonly agentName?: string
  readonly manifestId?: string
  /** Started at or after the first, before the second. */
  readonly window?: readonly [Date, Date]
  /** Traces that called no others come without their content. */
  readonly silentTools?: readonly string[] | null
}

/**
 * The next traces by start and id: as many as have up to `MAX_PAGE_BYTES` of content together, but at
 * least one. Running ones are left out. Empty at the end.
 */
export async function listClosedTraces(
  sql: Queryable,
  filter: ClosedTraceFilter,
  after: TracePosition | undefined,
): Promise<ClosedTraceRow[]> {
  const [page] = await sql<{ traces: PackedTrace[] | null; contents: Buffer | null }[]>`
    select json_agg(json_build_array(
        t.trace_id, t.revision, t.started_at, t.agent_name, t.status, t.active_skills, t.skills_loaded_by_agent,
        left(t.user_input_preview, 1), t.final_output_preview, t.tags,
        jsonb_build_object('replayable', t.metadata -> 'replayable',
          'not_replayable', t.metadata -> 'not_replayable'),
        octet_length(t.content), m.id,
        coalesce(t.manifest_id::text, t.metadata ->> 'unknown_manifest_id', t.manifest_hash),
        a.id, coalesce(e.given_up, false)) order by t.started_at, t.trace_id) as traces,
      string_agg(t.content, '' order by t.started_at, t.trace_id) as contents
    from (
      select *, sum(octet_length(content)) over (order by started_at, trace_id)
          - octet_length(content) as bytes_before
      from (
        select org_id, project_id, trace_id, revision, started_at, agent_name, status, active_skills,
          skills_loaded_by_agent, user_input_preview, final_output_preview, metadata, tags,
          ${filter.silentTools ? sql`case when tools_called <@ ${filter.silentTools}::text[] then '' else content end as content` : sql`content`},
          manifest_id, manifest_hash
        from traces t
        where ${matching(sql, filter)}
          ${after ? sql`and (started_at, trace_id) > (${after.started_at}, ${after.trace_id})` : sql``}
        order by started_at, trace_id limit ${MAX_PAGE_TRACES}) page) t
    left join manifests m on m.org_id = t.org_id and m.project_id = t.project_id
      and m.agent_name = t.agent_name and m.id = coalesce(t.manifest_id, (
        select named.id from manifests named
        where named.org_id = t.org_id and named.project_id = t.project_id
          and named.agent_name = t.agent_name
          and named.manifest_hash = 'sha256:' || t.manifest_hash))
    left join manifests a on a.org_id = t.org_id and a.project_id = t.project_id
      and a.agent_name = t.agent_name and a.status = 'active'
    left join trace_examinations e on e.org_id = t.org_id and e.project_id = t.project_id
      and e.trace_id = t.trace_id and e.given_up
    where bytes_before < ${MAX_PAGE_BYTES}`
  return unpack(page?.traces ?? [], page?.contents ?? Buffer.alloc(0))
}

/** After which trace the newest `count` traces of a filter begin; undefined when there are no more. */
export async function findPositionBefore(sql: Queryable, filter: ClosedTraceFilter, count: number) {
  const [row] = await sql<TracePosition[]>`
    select started_at, trace_id from traces t where ${matching(sql, filter)}
    order by started_at desc, trace_id desc offset ${count} limit 1`
  return row
}

/** How many traces all pages contain. */
export async function countClosedTraces(sql: Queryable, filter: ClosedTraceFilter) {
  const [row] = await sql<{ n: number }[]>`
    select count(*) as n from traces t where ${matching(sql, filter)}`
  return row?.n ?? 0
}

/**
 * Those of these traces that say what they said when they were read, and have been tied to no other manifest;
 * nobody changes, judges or deletes them before the transaction ends. What was found in another one must not
 * be stored: whoever changed or tied it has asked for it to be judged and searched again.
 */
export async function lockUnrevised(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traces: readonly Pick<
    ClosedTraceRow,
    'trace_id' | 'revision' | 'manifest_id' | 'named_manifest'
  >[],
) {
  const ids = traces.map(({ trace_id }) => trace_id)
  const locked = await tx<Pick<ClosedTraceRow, 'trace_id' | 'revision' | 'manifest_id'>[]>`
    select trace_id, revision, manifest_id from traces
    where ${ofTraces(tx, orgId, projectId, ids)} order by trace_id for no key update`
  const found = new Map(locked.map((trace) => [trace.trace_id, trace]))
  const isUnrevised = (read: (typeof traces)[number]) => {
    const now = found.get(read.trace_id)
    return (
      now?.revision === read.revision &&
      [null, read.named_manifest, read.manifest_id].includes(now.manifest_id)
    )
  }
  return new Set(traces.filter(isUnrevised).map(({ trace_id }) => trace_id))
}

/**
 * The contents of a page are one value: as many rows they would take the driver several times as long. Its
 * traces are lists, because to write the name of each member takes the server as long again.
 */
function unpack(traces: readonly PackedTrace[], contents: Buffer): ClosedTraceRow[] {
  let at = 0
  return traces.map(
    ([
      trace_id,
      revision,
      started_at,
      agent_name,
      status,
      active_skills,
      skills_loaded_by_agent,
      user_input_preview,
      final_output_preview,
      tags,
      metadata,
      length,
      manifest_id,
      named_manifest,
      active_manifest_id,
      given_up,
    ]) => ({
      trace_id,
      revision,
      started_at: new Date(started_at),
      agent_name,
      status,
      active_skills,
      skills_loaded_by_agent,
      user_input_preview,
      final_output_preview,
      tags,
      metadata,
      content: contents.subarray(at, (at += length)),
      manifest_id,
      named_manifest,
      active_manifest_id,
      given_up,
    }),
  )
}

function matching(sql: Queryable, filter: ClosedTraceFilter) {
  const { traceIds, agentName, manifestId, window } = filter
  return sql`org_id = ${filter.orgId} and project_id = ${filter.projectId} and status <> 'running'
    ${traceIds ? sql`and ${ofTraces(sql, filter.orgId, filter.projectId, traceIds)}` : sql``}
    ${agentName === undefined ? sql`` : sql`and agent_name = ${agentName}`}
    ${manifestId ? sql`and ${ofManifest(sql, filter.orgId, manifestId)}` : sql``}
    ${agentName === undefined || manifestId ? sql`` : sql`and manifest_id is not null`}
    ${window ? sql`and started_at >= ${window[0]} and started_at < ${window[1]}` : sql``}`
}

/** Compressed; decompressed they are about ten times as large. */
const MAX_PAGE_BYTES = 4 << 20
const MAX_PAGE_TRACES = 1000

/** In the order in which `listClosedTraces` selects them. */
type PackedTrace = [
  trace_id: ClosedTraceRow['trace_id'],
  revision: ClosedTraceRow['revision'],
  started_at: string,
  agent_name: ClosedTraceRow['agent_name'],
  status: ClosedTraceRow['status'],
  active_skills: ClosedTraceRow['active_skills'],
  skills_loaded_by_agent: ClosedTraceRow['skills_loaded_by_agent'],
  user_input_preview: ClosedTraceRow['user_input_preview'],
  final_output_preview: ClosedTraceRow['final_output_preview'],
  tags: ClosedTraceRow['tags'],
  metadata: ClosedTraceRow['metadata'],
  /** Size of the content in bytes. */
  length: number,
  manifest_id: ClosedTraceRow['manifest_id'],
  named_manifest: ClosedTraceRow['named_manifest'],
  active_manifest_id: ClosedTraceRow['active_manifest_id'],
  given_up: ClosedTraceRow['given_up'],
]
