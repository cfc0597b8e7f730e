import { OUTPUT_CORRECTED } from '../../jobs/rules/core/verdicts.ts'
import type { JudgedTrace } from '../../jobs/rules/evals/judgement.ts'
import type { JudgedScore } from '../../jobs/rules/evals/quality.ts'
import { arrayText, byteaText } from '../core/array-text.ts'
import { jsonText } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { ofTraces } from '../traces/traces.ts'
import { isSkillRating } from './skill-ratings.ts'

/** What judging a trace reads from its columns. */
export type LockedTrace = Omit<
  JudgedTrace,
  'duplicate_of' | 'fit' | 'broken_output' | 'flagged' | 'correction'
> & {
  content_hash: Buffer | null
  /** Size of the compressed content. */
  content_bytes: number
  /** Skills were active in it, or loaded by its agent. */
  uses_skills: boolean
}

/** Reads the traces without a lock: of what is judged in memory. */
export async function listJudged(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return sql<LockedTrace[]>`${selectJudged(sql, orgId, projectId, traceIds)} order by trace_id`
}

/**
 * Locks the traces, so that when two judgements run at once, the later one sees the scores that the
 * earlier one wrote, and that none is revised meanwhile.
 */
export async function lockJudged(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return tx<LockedTrace[]>`
    ${selectJudged(tx, orgId, projectId, traceIds)} order by trace_id for no key update`
}

/**
 * Lists for each trace the oldest one that has the same conversation, by start, arrival and id. For
 * traces that are the oldest themselves, also lists the copies whose verdict does not name them yet:
 * these may have been judged before the older one was there, or not at all. Those that are judged by a
 * correction name none, whichever is the oldest. Of all copies together `MAX_COPIES` are listed.
 */
export async function listOldest(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traces: readonly (HashedConversation & { trace_id: string })[],
) {
  const hashed = traces.filter(({ content_hash }) => content_hash !== null)
  const ids = hashed.map(({ trace_id }) => trace_id)
  return sql<{ trace_id: string; oldest: string }[]>`
    with given as materialized (
      select * from unnest(${ids}::text[], ${hashList(hashed)}::text::bytea[])
        as g (trace_id, content_hash)
    ), firsts as materialized (
      select h.content_hash, first.trace_id as oldest
      from (select distinct content_hash from given) as h
      cross join lateral (${oldestOf(sql, orgId, projectId)}) as first
    )
    select trace_id, oldest from given join firsts using (content_hash)
    union all
    (select copy.trace_id, f.oldest
    from firsts f cross join lateral (
      select t.trace_id from traces t
      left join verdicts v on v.org_id = t.org_id and v.project_id = t.project_id
        and v.period = t.period and v.trace_id = t.trace_id
      where t.org_id = ${orgId} and t.project_id = ${projectId} and t.status <> 'running'
        and t.content_hash = f.content_hash and t.trace_id <> all(${ids}::text[])
        and v.duplicate_of is distinct from f.oldest
        and (v.reasons @> ${jsonText([{ code: OUTPUT_CORRECTED }])}::text::jsonb) is not true
      limit ${MAX_COPIES}) as copy
    where f.oldest = any(${ids}::text[])
    limit ${MAX_COPIES})`
}

/**
 * Which of these traces are being deleted, or gone. Nobody deletes the others before the transaction ends.
 * It does not wait for a deletion, which may wait for traces that the transaction holds.
 */
export async function listLeaving(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  if (traceIds.length === 0) return new Set<string>()
  const held = await tx<{ trace_id: string }[]>`
    select trace_id from traces where ${ofTraces(tx, orgId, projectId, traceIds)}
    for key share skip locked`
  return new Set(traceIds).difference(new Set(held.map(({ trace_id }) => trace_id)))
}

/**
 * The oldest trace of each of these conversations. Judging it reaches the others, as `listOldest` tells.
 */
export async function listFirst(
  sql: Queryable,
  orgId: string,
  projectId: string,
  conversations: readonly HashedConversation[],
) {
  const rows = await sql<{ trace_id: string }[]>`
    select first.trace_id
    from unnest(${hashList(conversations)}::text::bytea[]) as h (content_hash)
    cross join lateral (${oldestOf(sql, orgId, projectId)}) as first`
  return rows.map(({ trace_id }) => trace_id)
}

/** The oldest trace of a conversation `h`, by the index `traces_content`. */
function oldestOf(sql: Queryable, orgId: string, projectId: string) {
  return sql`
    select trace_id from traces t
    where org_id = ${orgId} and project_id = ${projectId} and status <> 'running'
      and t.content_hash = h.content_hash
    order by started_at, created_at, trace_id limit 1`
}

/** The scores of traces, with what judging needs of them; those that rate a skill are not judged by. */
export async function listJudgedScores(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return sql<(JudgedScore & { trace_id: string; rates_skill: boolean })[]>`
    select trace_id, name, source, source_kind, source_label, value, passed, category,
      metadata ->> 'family' as family, ${isSkillRating(sql, sql`eval_scores`)} as rates_skill
    from eval_scores
    where ${ofTraces(sql, orgId, projectId, traceIds)}`
}

/**
 * Of each conversation whose oldest trace is one of these, the oldest of its other traces: it has to be
 * judged again when these are deleted. Judging it reaches the further copies.
 */
export async function listHeirs(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const rows = await sql<{ trace_id: string }[]>`
    with gone as materialized (
      select distinct on (content_hash) content_hash, started_at, created_at, trace_id from traces
      where ${ofTraces(sql, orgId, projectId, traceIds)} and content_hash is not null
        and status <> 'running'
      order by content_hash, started_at, created_at, trace_id
    )
    select heir.trace_id
    from gone cross join lateral (
      select c.started_at, c.created_at, c.trace_id from traces c
      where c.org_id = ${orgId} and c.project_id = ${projectId} and c.status <> 'running'
        and c.content_hash = gone.content_hash and c.trace_id <> all(${traceIds}::text[])
      order by c.started_at, c.created_at, c.trace_id limit 1) heir
    where (heir.started_at, heir.created_at, heir.trace_id)
      > (gone.started_at, gone.created_at, gone.trace_id)
    order by heir.trace_id`
  return rows.map(({ trace_id }) => trace_id)
}

/** `metadata.consent: false` and `metadata.do_not_train: true` are the marks that forbid training. */
function selectJudged(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return sql`
    select trace_id, agent_name, status, content_hash, coalesce(btrim(final_output_preview), '') <> '' as has_output,
      coalesce(user_input_preview, '') <> '' as has_input,
      tool_call_count, tool_error_count, llm_call_count, output_tokens, cost_usd, llm_latency_ms, malformed,
      octet_length(content) as content_bytes,
      active_skills <> '[]' or skills_loaded_by_agent <> '{}' as uses_skills,
      case when metadata -> 'consent' = 'false' or metadata -> 'do_not_train' = 'true'
        then 'policy.consent' end as forbidden
    from traces
    where ${ofTraces(sql, orgId, projectId, traceIds)}`
}

/** The driver writes an array of buffers as one buffer, so the array goes as text and is cast. */
function hashList(conversations: readonly HashedConversation[]) {
  return arrayText(
    conversations.flatMap(({ content_hash: hash }) => (hash === null ? [] : byteaText(hash))),
  )
}

/** A conversation may have a million copies. */
export const MAX_COPIES = 5000

interface HashedConversation {
  content_hash: Buffer | null
}
