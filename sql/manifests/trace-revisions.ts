import { order } from '../../jobs/rules/core/order.ts'
import { arrayText, byteaText } from '../core/array-text.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { aboutTrace, aboutTraces, ofTrace, ofTraces } from '../traces/traces.ts'
import type { TraceKey } from '../traces/traces.ts'

/** A trace patched to fit a manifest. */
export interface RepairedTrace {
  readonly trace_id: string
  /** `revision` of the trace that was patched. */
  readonly trace_revision: number
  /** Of the rules of the batch those that were applied, by index. */
  readonly rules: readonly number[]
  /** Compressed like the content of the trace. */
  readonly content: Uint8Array
  /** SHA-256 of the content before compression. */
  readonly content_hash: Uint8Array
  readonly tools_called: readonly string[]
}

/** Where repaired traces belong. */
export interface RepairTarget {
  readonly orgId: string
  readonly projectId: string
  readonly batchId: string
  readonly targetManifestId: string
}

/**
 * Stores repaired contents of traces that are as they were when they were read. Where the same content is
 * stored already nothing is written. Nobody changes or deletes the traces before the transaction ends.
 * @returns the ids of the traces whose repaired content is stored; the others were changed or deleted
 */
export async function upsertRevisions(
  tx: Transaction,
  { orgId, projectId, batchId, targetManifestId }: RepairTarget,
  repaired: readonly RepairedTrace[],
): Promise<ReadonlySet<string>> {
  // In one order, so that two batches over the same traces never wait for each other.
  const sorted = repaired.toSorted((a, b) => order(a.trace_id, b.trace_id))
  const read = new Map(sorted.map((trace) => [trace.trace_id, trace.trace_revision]))
  const locked = await tx<{ trace_id: string; revision: number }[]>`
    select trace_id, revision from traces
    where ${ofTraces(tx, orgId, projectId, [...read.keys()])}
    order by trace_id for share`
  const same = new Set(
    locked.flatMap((t) => (t.revision === read.get(t.trace_id) ? [t.trace_id] : [])),
  )
  const rows = sorted.filter(({ trace_id }) => same.has(trace_id))
  if (rows.length === 0) return same
  await tx`
    insert into trace_revisions as r (org_id, project_id, trace_id, target_manifest_id, batch_id,
      trace_revision, rules, content, content_hash, tools_called)
    select ${orgId}, ${projectId}, trace_id, ${targetManifestId}, ${batchId}, trace_revision,
      rules::int[], content, content_hash, tools_called::text[]
    from unnest(${arrayText(rows.map((row) => row.trace_id))}::text::text[],
      ${rows.map((row) => row.trace_revision)}::int[],
      ${arrayText(rows.map((row) => `{${row.rules.join()}}`))}::text::text[],
      ${arrayText(rows.map((row) => byteaText(row.content)))}::text::bytea[],
      ${arrayText(rows.map((row) => byteaText(row.content_hash)))}::text::bytea[],
      ${arrayText(rows.map((row) => arrayText(row.tools_called)))}::text::text[])
      as repaired (trace_id, trace_revision, rules, content, content_hash, tools_called)
    on conflict (org_id, project_id, trace_id, target_manifest_id) do update set
      batch_id = excluded.batch_id, trace_revision = excluded.trace_revision, rules = excluded.rules,
      content = excluded.content, content_hash = excluded.content_hash,
      tools_called = excluded.tools_called, created_at = excluded.created_at
    where (r.trace_revision, r.content_hash, r.rules)
      is distinct from (excluded.trace_revision, excluded.content_hash, excluded.rules)`
  return same
}

/**
 * Deletes what earlier batches made of traces for the same manifest, with rules that this one leaves out. What
 * another batch changes at this moment stays as that makes it.
 */
export async function withdrawRevisions(
  tx: Transaction,
  { orgId, projectId, targetManifestId }: RepairTarget,
  traceIds: readonly string[],
) {
  const isOfTarget = tx`
    ${aboutTraces(tx, orgId, projectId, traceIds)} and target_manifest_id = ${targetManifestId}`
  await tx`
    delete from trace_revisions where ${isOfTarget} and trace_id in (
      select trace_id from trace_revisions where ${isOfTarget} for update skip locked)`
}

/** The repaired contents of a trace that were made of it as it is now, newest first, at most `limit`. */
export async function listRevisions(sql: Queryable, key: TraceKey, limit: number) {
  return sql<{ target_manifest_id: string; batch_id: string; created_at: Date }[]>`
    select r.target_manifest_id, r.batch_id, r.created_at
    from ${ofPresent(sql, key)}
    order by r.created_at desc, r.target_manifest_id desc limit ${limit}`
}

/** The compressed content of a trace repaired for a manifest; undefined when there is none. */
export async function findRevisionContent(sql: Queryable, key: TraceKey, manifestId: string) {
  const [row] = await sql<{ content: Buffer }[]>`
    select r.content from ${ofPresent(sql, key)} and r.target_manifest_id = ${manifestId}`
  return row?.content
}

/** Those made of another revision of the trace do not count. */
function ofPresent(sql: Queryable, key: TraceKey) {
  return sql`(select * from trace_revisions where ${aboutTrace(sql, key)}) r
    cross join (select revision from traces where ${ofTrace(sql, key)}) t
    where r.trace_revision = t.revision`
}
