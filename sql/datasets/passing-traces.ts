import type { Candidate, ReplayResult } from '../../jobs/rules/datasets/candidates.ts'
import type { Anchored, Unreplayed } from '../../jobs/rules/datasets/split.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { sourceTraceId } from '../traces/replays.ts'
import type { Period } from '../traces/periods.ts'
import { isSameTrace } from '../traces/traces.ts'
import { attemptedTask, firstTrace, replayResult } from './attempted-tasks.ts'
import type { Judged } from './revisions.ts'
import { correctionOf, judgedTraces, ofProject, passing } from './trace-filters.ts'
import type { Selection } from './trace-filters.ts'
import { meansOf, scoresOf, UNSCORED } from './trace-scores.ts'

/** A selected trace without its content. */
export type SelectedTrace = Candidate &
  Anchored & {
    /** Which policy decided. */
    readonly policy_agent_name: string
    readonly policy_version: number
    readonly content_bytes: number
    /** The month in which it came, by its first day, `YYYY-MM-DD`. */
    readonly period: Period
    readonly created_at: Date
    /** How often it was changed. */
    readonly revision: number
    /** SHA-256 over all scores of the trace. */
    readonly score_fingerprint: Buffer
  }

/** A selected trace whose revisions are not looked for yet. */
export type JudgedTrace = SelectedTrace &
  Judged & {
    /** How many of `content_bytes` are those of a correction. */
    readonly correction_bytes: number
  }

/**
 * Declares the cursor `passing` for the traces that pass every filter. What else is told of them is joined
 * in it: to read that by their ids, batch by batch, takes twice as long. Where they are most traces of the
 * project, scores and corrections are those of all its traces; else they are looked up trace by trace.
 * @param share how many of the traces of the project pass, about, from 0 to 1
 */
export async function declarePassing(tx: Transaction, selection: Selection, share: number) {
  const { orgId, projectId } = selection
  const areMost = share >= LEAST_SHARE
  const source = sourceTraceId(tx, tx`t`)
  await tx`
    declare passing no scroll cursor for
    select t.trace_id, t.period::text, t.agent_name, coalesce(t.manifest_id, m.id), t.manifest_hash, t.task_id,
      t.session_id, ${source}, coalesce(${source}, t.parent_trace_id), ${parent(tx)},
      ${firstTrace(tx, orgId, projectId)}, attempt.task, result.replay,
      t.created_at, t.revision, octet_length(t.content), correction.id, correction.bytes,
      v.verdict, v.eval_verdict, v.quality_avg, v.target_manifest_id,
      jsonb_path_query_array(v.reasons, '$[*].code'), v.policy_agent_name, v.policy_version,
      told.names, told.values, told.preferred, told.pair_id, told.fingerprint
    from ${judgedTraces(tx)}
      ${attempt(tx, selection)}
      ${untiedManifest(tx)}
      ${replayResult(tx, selection)}
      ${correctionOf(tx, selection, { areMost })}
      ${scoresOf(tx, selection, areMost)}
    where ${ofProject(tx, selection)} ${passing(tx, selection)}`
}

/** The trace of a row. */
export function selectedTrace(row: PassingRow): JudgedTrace {
  const [
    trace_id,
    period,
    agent_name,
    manifest_id,
    manifest_hash,
    task_id,
    session_id,
    source_trace_id,
    parent_trace_id,
    parent,
    first,
    attempted,
    replay,
    created_at,
    revision,
    recorded_bytes,
    annotation_id,
    correction_bytes,
    verdict,
    eval_verdict,
    quality,
    target_manifest_id,
    reasons,
    policy_agent_name,
    policy_version,
    names,
    values,
    preferred,
    pair_id,
    fingerprint,
  ] = row
  return {
    trace_id,
    period,
    agent_name,
    manifest_id,
    manifest_hash,
    task_id,
    session_id,
    source_trace_id,
    parent_trace_id,
    parent_task_id: parent?.[0] ?? null,
    parent_session_id: parent?.[1] ?? null,
    first,
    attempted,
    replay,
    created_at,
    revision,
    annotation_id,
    verdict,
    eval_verdict,
    quality,
    target_manifest_id,
    reasons,
    policy_agent_name,
    policy_version,
    preferred,
    pair_id,
    correction_bytes: correction_bytes ?? 0,
    content_bytes: recorded_bytes + (correction_bytes ?? 0),
    repair: null,
    scores: meansOf(names ?? [], values ?? []),
    score_fingerprint: fingerprint ?? UNSCORED,
  }
}

/** Joins `attempt` to trace `t`. Only pairs ask for it, because it looks for all replays of the project. */
function attempt(sql: Queryable, { orgId, projectId, recipe }: Selection) {
  return recipe.dataset_type === 'dpo'
    ? attemptedTask(sql, orgId, projectId)
    : sql`cross join (select null::text as task) attempt`
}

/** Joins to trace `t` the manifest `m` that only its hash ties it to. */
function untiedManifest(sql: Queryable) {
  return sql`left join manifests m on m.org_id = t.org_id and m.project_id = t.project_id
    and m.agent_name = t.agent_name
    and m.manifest_hash = case when t.manifest_id is null then 'sha256:' || t.manifest_hash end`
}

/**
 * The task and the session of the parent of trace `t`; null where it has none, for which nothing is looked
 * up. The inner limit has only the period looked into that the parent is of.
 */
function parent(sql: Queryable) {
  return sql`case when t.parent_trace_id is not null then (
    select json_build_array(p.task_id, p.session_id)
    from trace_ids i cross join lateral (
      select p.task_id, p.session_id from traces p where ${isSameTrace(sql, sql`p`, sql`i`)} limit 1) p
    where i.org_id = t.org_id and i.project_id = t.project_id and i.trace_id = t.parent_trace_id) end`
}

/** To look up the scores of a trace takes two to three times as long as to sort them with all others. */
const LEAST_SHARE = 0.3

/** A row of the cursor. Objects with so many members would be slow to make, and slow to read. */
export type PassingRow = readonly [
  trace_id: string,
  period: Period,
  agent_name: string,
  manifest_id: string | null,
  manifest_hash: string | null,
  task_id: string | null,
  session_id: string | null,
  source_trace_id: string | null,
  parent_trace_id: string | null,
  parent: readonly [taskId: string | null, sessionId: string | null] | null,
  first: Unreplayed | null,
  attempted: string | null,
  replay: ReplayResult | null,
  created_at: Date,
  revision: number,
  recorded_bytes: number,
  annotation_id: string | null,
  correction_bytes: number | null,
  verdict: Candidate['verdict'],
  eval_verdict: Candidate['eval_verdict'],
  quality: number | null,
  target_manifest_id: string | null,
  reasons: readonly string[],
  policy_agent_name: string,
  policy_version: number,
  names: readonly string[] | null,
  values: readonly number[] | null,
  preferred: boolean | null,
  pair_id: string | null,
  fingerprint: Buffer | null,
]
