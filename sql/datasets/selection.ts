import type { Candidate } from '../../jobs/rules/datasets/candidates.ts'
import type { Anchored } from '../../jobs/rules/datasets/split.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { sourceTraceId } from '../traces/replays.ts'
import { aboutTraces, isSameTrace } from '../traces/traces.ts'
import { attemptedTask, firstTrace, replayResult } from './attempted-tasks.ts'
import { listRevisions } from './revisions.ts'
import type { Judged } from './revisions.ts'
import { judgedTraces, ofProject, passing } from './trace-filters.ts'
import type { Selection } from './trace-filters.ts'
import { meansOf, scoresOf, UNSCORED } from './trace-scores.ts'
import type { ScoreColumns, ToldByScores } from './trace-scores.ts'

/** A selected trace without its content. */
export type SelectedTrace = Candidate &
  Anchored &
  ToldByScores & {
    /** Which policy decided. */
    readonly policy_agent_name: string
    readonly policy_version: number
    content_bytes: number
    created_at: Date
    /** How often it was changed. */
    revision: number
  }

/**
 * The traces that pass every filter, in no order, `batch` at a time. The server reads the next batch
 * while the caller works on one. All are of one state of the database where the transaction has the
 * isolation level repeatable read.
 * @param share how many of the traces with scores pass, about, from 0 to 1
 */
export async function* selectTraces(
  tx: Transaction,
  selection: Selection,
  { batch, share }: { readonly batch: number; readonly share: number },
): AsyncGenerator<SelectedTrace[]> {
  await planToReadAll(tx)
  await declarePassing(tx, selection, share)
  const fetch = () => tx<Passing[]>`fetch ${tx.unsafe(String(batch))} from passing`.execute()
  let fetched = fetch()
  async function readNext() {
    const passing = await fetched
    fetched = fetch()
    return passing.length === 0 ? undefined : complete(tx, selection, passing)
  }
  let next = readNext()
  for (;;) {
    const traces = await next
    if (!traces) break
    next = readNext()
    // Nobody awaits it where the caller goes no further.
    next.catch(() => undefined)
    yield traces
  }
  await tx`close passing`
}

/**
 * Has the server plan, for the rest of the transaction, to read all rows of a cursor, and what is much in
 * the order in which it lies on the disk: in that of random ids, each row is on another page. Tables are
 * joined month by month, in little memory; what does not fit is spilled. Workers for a batch would take
 * longer to start than they save, and a plan that is kept for all batches would be one for few ids.
 */
async function planToReadAll(tx: Transaction) {
  await tx`
    select set_config('cursor_tuple_fraction', '1', true), set_config('random_page_cost', '4', true),
      set_config('enable_partitionwise_join', 'on', true),
      set_config('enable_partitionwise_aggregate', 'on', true), set_config('work_mem', '64MB', true),
      set_config('max_parallel_workers_per_gather', '0', true),
      set_config('plan_cache_mode', 'force_custom_plan', true)`
}

/** Declares the cursor `passing`. */
async function declarePassing(tx: Transaction, selection: Selection, share: number) {
  const { orgId, projectId } = selection
  const source = sourceTraceId(tx, tx`t`)
  await tx`
    declare passing no scroll cursor for
    select t.trace_id, t.agent_name, coalesce(t.manifest_id, m.id) as manifest_id, t.manifest_hash,
      t.task_id, t.session_id, ${source} as source_trace_id, result.replay,
      coalesce(${source}, t.parent_trace_id) as parent_trace_id,
      parent.task_id as parent_task_id, parent.session_id as parent_session_id,
      ${firstTrace(tx, orgId, projectId)} as first, attempt.task as attempted,
      t.created_at, t.revision, octet_length(t.content) as content_bytes,
      v.verdict, v.eval_verdict, v.quality_avg as quality, v.target_manifest_id,
      jsonb_path_query_array(v.reasons, '$[*].code') as reasons, v.policy_agent_name, v.policy_version,
      told.names, told.values, told.score_fingerprint, told.preferred, told.pair_id
    from ${judgedTraces(tx)}
      ${attempt(tx, selection)}
      ${untiedManifest(tx)}
      ${parent(tx)}
      ${replayResult(tx, selection)}
      ${scoresOf(tx, selection, share)}
    where ${ofProject(tx, selection)} ${passing(tx, selection)}`
}

/** Adds what other people wrote in the place of these traces, which few have. */
async function complete(tx: Transaction, selection: Selection, passing: readonly Passing[]) {
  const [corrections, revisions] = await Promise.all([
    listCorrections(tx, selection, passing),
    listRevisions(tx, selection, passing),
  ])
  return passing.map(({ names, values, target_manifest_id: _, ...trace }): SelectedTrace => {
    const revision = revisions.get(trace.trace_id)
    const used = revision?.trace_revision === trace.revision ? revision : undefined
    const correction = corrections.get(trace.trace_id)
    return {
      ...trace,
      scores: meansOf(names, values),
      score_fingerprint: trace.score_fingerprint ?? UNSCORED,
      annotation_id: correction?.annotation_id ?? null,
      repair: used?.repair ?? null,
      content_bytes: (used?.bytes ?? trace.content_bytes) + (correction?.bytes ?? 0),
    }
  })
}

/**
 * Joins to trace `t` its `parent`. The limits keep the planner from reading all traces for a few parents,
 * and have it look only into the period that a parent is of.
 */
function parent(sql: Queryable) {
  return sql`left join lateral (
    select p.task_id, p.session_id
    from trace_ids i cross join lateral (
      select p.task_id, p.session_id from traces p where ${isSameTrace(sql, sql`p`, sql`i`)} limit 1) p
    where i.org_id = t.org_id and i.project_id = t.project_id and i.trace_id = t.parent_trace_id
    limit 1) parent on true`
}

/** Joins to trace `t` the manifest `m` that only its hash ties it to. */
function untiedManifest(sql: Queryable) {
  return sql`left join manifests m on m.org_id = t.org_id and m.project_id = t.project_id
    and m.agent_name = t.agent_name
    and m.manifest_hash = case when t.manifest_id is null then 'sha256:' || t.manifest_hash end`
}

/** Joins `attempt` to trace `t`. Only pairs ask for it, because it looks for all replays of the project. */
function attempt(sql: Queryable, { orgId, projectId, recipe }: Selection) {
  return recipe.dataset_type === 'dpo'
    ? attemptedTask(sql, orgId, projectId)
    : sql`cross join (select null::text as task) attempt`
}

/** The newest correction of each trace, by trace id. A kto row labels the recorded output, so it takes none. */
async function listCorrections(
  sql: Queryable,
  { orgId, projectId, recipe }: Selection,
  traces: readonly Passing[],
) {
  if (recipe.dataset_type === 'kto') return new Map<string, Correction>()
  const ids = traces.map(({ trace_id }) => trace_id)
  const rows = await sql<Correction[]>`
    select distinct on (trace_id) trace_id, id as annotation_id, octet_length(corrected_output) as bytes
    from annotations
    where ${aboutTraces(sql, orgId, projectId, ids)} and corrected_output is not null
    order by trace_id, created_at desc, id desc`
  return new Map(rows.map((row) => [row.trace_id, row]))
}

type Passing = Judged &
  ScoreColumns &
  Omit<SelectedTrace, 'annotation_id' | 'repair' | keyof ToldByScores>
interface Correction {
  readonly trace_id: string
  readonly annotation_id: string
  readonly bytes: number
}
