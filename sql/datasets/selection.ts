import type { Candidate } from '../../jobs/rules/datasets/candidates.ts'
import type { Anchored } from '../../jobs/rules/datasets/split.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { sourceTraceId } from '../traces/replays.ts'
import { aboutTraces, isSameTrace } from '../traces/traces.ts'
import { attemptedTask, firstTrace, replayResult } from './attempted-tasks.ts'
import { ofPlaced } from './placed-traces.ts'
import type { PlacedTrace } from './placed-traces.ts'
import { listRevisions } from './revisions.ts'
import { judgedTraces, ofProject, passing } from './trace-filters.ts'
import type { Selection } from './trace-filters.ts'
import { listScores, UNSCORED } from './trace-scores.ts'
import type { ToldByScores } from './trace-scores.ts'
import { listVerdicts } from './trace-verdicts.ts'
import type { TraceVerdict } from './trace-verdicts.ts'

/** A selected trace without its content. */
export type SelectedTrace = Candidate &
  Anchored &
  ToldByScores &
  Omit<TraceVerdict, 'target_manifest_id'> & {
    content_bytes: number
    created_at: Date
    /** How often it was changed. */
    revision: number
  }

/**
 * The traces that pass every filter, by trace id in byte order, `batch` at a time. The server reads the
 * next batch while the caller works on one. All are of one state of the database where the transaction
 * has the isolation level repeatable read.
 */
export async function* selectTraces(
  tx: Transaction,
  selection: Selection,
  batch: number,
): AsyncGenerator<SelectedTrace[]> {
  // A plan that is kept for all batches would be one for few ids. To start workers for a batch takes
  // longer than they save: all its ids are written out for them, and read again.
  await tx`select set_config('plan_cache_mode', 'force_custom_plan', true),
    set_config('max_parallel_workers_per_gather', '0', true)`
  await declarePassing(tx, selection)
  const fetch = () => tx<Passing[]>`fetch ${tx.unsafe(String(batch))} from passing`.execute()
  let fetched = fetch()
  async function readNext() {
    const passing = await fetched
    fetched = fetch()
    return passing.length === 0 ? undefined : describe(tx, selection, passing)
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

/** Declares the cursor `passing`: only ids are sorted, because they are all that may be many at once. */
async function declarePassing(tx: Transaction, selection: Selection) {
  await tx`
    declare passing no scroll cursor for
    select t.trace_id, t.period::text as period, attempt.task as attempted
    from ${judgedTraces(tx)} ${attempt(tx, selection)}
    where ${ofProject(tx, selection)} ${passing(tx, selection)}
    order by t.trace_id collate "C"`
}

/**
 * In the same order; traces that were deleted meanwhile are left out. Each statement reads by ids what it
 * reads, and nothing is joined that a wrong estimate could make it read for each trace anew, or whole.
 */
async function describe(tx: Transaction, selection: Selection, passing: readonly Passing[]) {
  const judging = listVerdicts(tx, selection, passing)
  const [verdicts, traces, corrections, scores, revisions] = await Promise.all([
    judging,
    listTraces(tx, selection, passing),
    listCorrections(tx, selection, passing),
    listScores(tx, selection, passing),
    judging.then((verdicts) => listRevisions(tx, selection, verdicts)),
  ])
  return passing.flatMap(({ trace_id, attempted }): SelectedTrace[] => {
    const trace = traces.get(trace_id)
    const verdict = verdicts.get(trace_id)
    if (!trace || !verdict) return []
    const revision = revisions.get(trace_id)
    const used = revision?.trace_revision === trace.revision ? revision : undefined
    const correction = corrections.get(trace_id)
    const told = scores.get(trace_id) ?? UNSCORED
    return [
      {
        trace_id,
        agent_name: trace.agent_name,
        manifest_id: trace.manifest_id,
        manifest_hash: trace.manifest_hash,
        task_id: trace.task_id,
        session_id: trace.session_id,
        source_trace_id: trace.source_trace_id,
        replay: trace.replay,
        parent_trace_id: trace.parent_trace_id,
        parent_task_id: trace.parent_task_id,
        parent_session_id: trace.parent_session_id,
        first: trace.first,
        created_at: trace.created_at,
        revision: trace.revision,
        verdict: verdict.verdict,
        eval_verdict: verdict.eval_verdict,
        quality: verdict.quality,
        reasons: verdict.reasons,
        policy_agent_name: verdict.policy_agent_name,
        policy_version: verdict.policy_version,
        attempted,
        annotation_id: correction?.annotation_id ?? null,
        repair: used?.repair ?? null,
        content_bytes: (used?.bytes ?? trace.content_bytes) + (correction?.bytes ?? 0),
        scores: told.scores,
        preferred: told.preferred,
        pair_id: told.pair_id,
        score_fingerprint: told.score_fingerprint,
      },
    ]
  })
}

/** By trace id. */
async function listTraces(sql: Queryable, selection: Selection, passing: readonly PlacedTrace[]) {
  const { orgId, projectId } = selection
  const source = sourceTraceId(sql, sql`t`)
  const rows = await sql<BareTrace[]>`
    select t.trace_id, t.agent_name, coalesce(t.manifest_id, m.id) as manifest_id, t.manifest_hash,
      t.task_id, t.session_id, ${source} as source_trace_id, result.replay,
      coalesce(${source}, t.parent_trace_id) as parent_trace_id,
      parent.task_id as parent_task_id, parent.session_id as parent_session_id,
      ${firstTrace(sql, orgId, projectId)} as first,
      t.created_at, t.revision, octet_length(t.content) as content_bytes
    from traces t
      ${untiedManifest(sql)}
      ${parent(sql)}
      ${replayResult(sql, selection)}
    where ${ofPlaced(sql, selection, passing, sql`t.`)}`
  return new Map(rows.map((row) => [row.trace_id, row]))
}

/** Joins to trace `t` its `parent`. The limit keeps the planner from reading all traces for a few parents. */
function parent(sql: Queryable) {
  return sql`left join lateral (
    select p.task_id, p.session_id
    from trace_ids i join traces p on ${isSameTrace(sql, sql`p`, sql`i`)}
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
  traces: readonly PlacedTrace[],
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

type Passing = PlacedTrace & Pick<SelectedTrace, 'attempted'>
type BareTrace = Omit<
  SelectedTrace,
  'attempted' | 'annotation_id' | 'repair' | keyof ToldByScores | keyof TraceVerdict
>
interface Correction {
  readonly trace_id: string
  readonly annotation_id: string
  readonly bytes: number
}
