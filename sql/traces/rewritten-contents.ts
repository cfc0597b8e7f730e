import type { JobState } from '../../jobs/rules/jobs/job-state.ts'
import { WHOLE_MARK } from '../../jobs/rules/traces/content.ts'
import { arrayText, byteaText } from '../core/array-text.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { aboutTraces, isSameTrace, ofTraces } from './traces.ts'

/** Where contents lie: the traces of a project. */
export interface ContentOwner {
  readonly orgId: string
  readonly projectId: string
}

/** What names a content of a trace: its own, or the one that was repaired for a manifest. */
export interface ContentKey {
  readonly trace_id: string
  /** Null for the trace's own. */
  readonly target_manifest_id: string | null
}

/** A project with traces, and the newest job of a kind in it, if there is one. */
export interface ProjectJob {
  readonly org_id: string
  readonly project_id: string
  readonly job_id: string | null
  readonly state: JobState | null
  readonly done: number | null
  readonly total: number | null
}

/** The next projects by id that have traces, of one organization or of all. */
export async function listProjectJobs(
  sql: Queryable,
  kind: string,
  { orgId, after, limit }: { orgId?: string | undefined; after: string; limit: number },
) {
  return sql<ProjectJob[]>`
    select p.org_id, p.id as project_id, j.id as job_id, j.state, j.progress_done as done,
      j.progress_total as total
    from projects p left join lateral (
      select id, state, progress_done, progress_total from jobs
      where org_id = p.org_id and project_id = p.id and kind = ${kind}
      order by created_at desc, id desc limit 1) j on true
    where p.id > ${after} ${orgId ? sql`and p.org_id = ${orgId}` : sql``}
      and exists (select from traces t where t.org_id = p.org_id and t.project_id = p.id)
    order by p.id limit ${limit}`
}

/** The ids of the next traces of a project, at most `limit`. @param after '' for the first ones */
export async function listTraceIds(
  sql: Queryable,
  { orgId, projectId }: ContentOwner,
  after: string,
  limit: number,
) {
  const rows = await sql<{ trace_id: string }[]>`
    select trace_id from traces
    where org_id = ${orgId} and project_id = ${projectId} and trace_id > ${after}
    order by trace_id limit ${limit}`
  return rows.map(({ trace_id }) => trace_id)
}

/** The contents of these traces that are stored whole, but for those that have nothing to share. */
export async function listWholeContents(
  sql: Queryable,
  { orgId, projectId }: ContentOwner,
  traceIds: readonly string[],
) {
  const isWhole = sql`substr(content, 1, 1) = ${WHOLE_MARK}`
  return sql<(ContentKey & { content_bytes: number })[]>`
    select trace_id, null::uuid as target_manifest_id, octet_length(content) as content_bytes
    from traces
    where ${ofTraces(sql, orgId, projectId, traceIds)} and ${isWhole} and llm_call_count > 1
    union all
    select trace_id, target_manifest_id, octet_length(content) from trace_revisions
    where ${aboutTraces(sql, orgId, projectId, traceIds)} and ${isWhole}`
}

/** A content as it was read. */
export interface ReadContent extends ContentKey {
  readonly content: Buffer
  /** Changes with what the content says. */
  readonly version: string
}

/** In no order; those that are gone are missing. */
export async function listContentsOf(
  sql: Queryable,
  { orgId, projectId }: ContentOwner,
  keys: readonly ContentKey[],
) {
  const named = sql`unnest(${keys.map(({ trace_id }) => trace_id)}::text[],
    ${keys.map(({ target_manifest_id: id }) => id)}::uuid[]) as k (trace_id, target_manifest_id)`
  return sql<ReadContent[]>`
    select t.trace_id, k.target_manifest_id, t.content, ${traceVersion(sql)} as version
    from ${named}
    join trace_ids i on i.org_id = ${orgId} and i.project_id = ${projectId} and i.trace_id = k.trace_id
    join traces t on ${isSameTrace(sql, sql`t`, sql`i`)}
    where k.target_manifest_id is null
    union all
    select r.trace_id, k.target_manifest_id, r.content, ${revisionVersion(sql)} as version
    from ${named} join trace_revisions r on r.org_id = ${orgId} and r.project_id = ${projectId}
      and r.trace_id = k.trace_id and r.target_manifest_id = k.target_manifest_id`
}

/** A content that says in other bytes what it said when it was read. */
export type RewrittenContent = Omit<ReadContent, 'content'> & { readonly content: Uint8Array }

/**
 * Writes contents where the same is still said, and nothing beside them. Others are left to whoever
 * changed them. Locks the traces in the order in which all lock them.
 * @returns how many were written
 */
export async function updateContents(
  tx: Transaction,
  { orgId, projectId }: ContentOwner,
  rewritten: readonly RewrittenContent[],
): Promise<number> {
  if (rewritten.length === 0) return 0
  const ids = rewritten.map(({ trace_id }) => trace_id)
  await tx`
    select from traces where ${ofTraces(tx, orgId, projectId, ids)}
    order by trace_id for no key update`
  const rows = tx`unnest(${ids}::text[],
      ${rewritten.map(({ target_manifest_id: id }) => id)}::uuid[],
      ${rewritten.map(({ version }) => version)}::text[],
      ${arrayText(rewritten.map(({ content }) => byteaText(content)))}::text::bytea[])
    as n (trace_id, target_manifest_id, version, content)`
  const traces = await tx`
    update traces t set content = n.content
    from ${rows}
    join trace_ids i on i.org_id = ${orgId} and i.project_id = ${projectId} and i.trace_id = n.trace_id
    where ${isSameTrace(tx, tx`t`, tx`i`)}
      and n.target_manifest_id is null and ${traceVersion(tx)} = n.version`
  const revisions = await tx`
    update trace_revisions r set content = n.content from ${rows}
    where r.org_id = ${orgId} and r.project_id = ${projectId} and r.trace_id = n.trace_id
      and r.target_manifest_id = n.target_manifest_id and ${revisionVersion(tx)} = n.version`
  return traces.count + revisions.count
}

/** Another trace may have come under the id of a deleted one, and begins at revision 0 again. */
function traceVersion(sql: Queryable) {
  return sql`t.revision || ' ' || t.created_at`
}

function revisionVersion(sql: Queryable) {
  return sql`encode(r.content_hash, 'hex')`
}
