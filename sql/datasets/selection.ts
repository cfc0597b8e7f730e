import { PREFERENCE } from '../../jobs/rules/datasets/pairs.ts'
import type { Candidate } from '../../jobs/rules/datasets/candidates.ts'
import type { Anchored } from '../../jobs/rules/datasets/split.ts'
import type { Filters, Options, Recipe } from '../../jobs/rules/datasets/recipe.ts'
import type { Queryable } from '../core/db.ts'
import { sourceTraceId } from '../traces/replays.ts'
import { ofManifest } from '../traces/traces.ts'
import { attemptedTask, firstTrace, replayResult } from './attempted-tasks.ts'
import { usedRevision } from './revisions.ts'

/** A selected trace without its content. */
export type SelectedTrace = Candidate &
  Anchored & {
    /** Which policy decided on it. */
    policy_agent_name: string
    policy_version: number
    /** SHA-256 over all scores of the trace. */
    score_fingerprint: Buffer
    content_bytes: number
    created_at: Date
    /** How often it was changed. */
    revision: number
  }

export interface Selection {
  readonly orgId: string
  readonly projectId: string
  readonly recipe: Recipe
}

/**
 * The traces that pass every filter, by trace id in byte order, `batch` at a time. Reads through a
 * cursor: call it in a transaction.
 */
export function selectTraces(sql: Queryable, selection: Selection, batch: number) {
  const { orgId, projectId, recipe } = selection
  const source = sourceTraceId(sql, sql`t`)
  return sql<SelectedTrace[]>`
    select t.trace_id, t.agent_name, ${manifestId(sql)} as manifest_id, t.manifest_hash, t.task_id, t.session_id,
      ${source} as source_trace_id, attempt.task as attempted, result.replay,
      coalesce(${source}, t.parent_trace_id) as parent_trace_id,
      p.task_id as parent_task_id, p.session_id as parent_session_id,
      ${firstTrace(sql, orgId, projectId)} as first,
      t.created_at, t.revision, revised.repair,
      coalesce(revised.bytes, octet_length(t.content)) + coalesce(c.bytes, 0) as content_bytes,
      c.id as annotation_id, h.preferred, h.pair_id,
      v.verdict, v.eval_verdict, v.quality_avg as quality,
      jsonb_path_query_array(v.reasons, '$[*].code') as reasons,
      v.policy_agent_name, v.policy_version,
      coalesce(${scores(sql)}, '{}') as scores, ${scoreFingerprint(sql)} as score_fingerprint
    from ${judgedTraces(sql)}
      left join traces p on p.org_id = t.org_id and p.project_id = t.project_id
        and p.trace_id = t.parent_trace_id
      ${attempt(sql, selection)}
      ${replayResult(sql, recipe)}
      ${usedRevision(sql, recipe)}
      ${newestCorrection(sql, recipe)}
      ${preference(sql, recipe)}
    where ${ofProject(sql, selection)} ${passing(sql, selection)}
    order by t.trace_id collate "C"`.cursor(batch)
}

/** What follows `from` to read the traces `t` of a project that pass filters, also those that nothing was decided on. */
export function filteredTraces(
  sql: Queryable,
  { orgId, projectId, filters }: { orgId: string; projectId: string; filters: Filters },
) {
  const recipe = { filters, options: { include_needs_review: true } }
  return sql`${judgedTraces(sql)} where ${ofProject(sql, { orgId, projectId })}
    ${passing(sql, { orgId, recipe, isAnyTaken: true })}`
}

/** How many traces of the project each filter left out, as `filtered.<name>`. A trace counts for the first filter it fails. */
export async function countFiltered(sql: Queryable, selection: Selection) {
  const filters = conditions(sql, selection)
  const rows = await sql<{ reason: string; n: number }[]>`
    select reason, count(*) as n from (
      select case ${filters.map(
        ([name, condition]) => sql`when (${condition}) is not true then ${`filtered.${name}`} `,
      )} end as reason
      from ${judgedTraces(sql)} where ${ofProject(sql, selection)}) as traces
    where reason is not null group by reason order by reason`
  return new Map(rows.map(({ reason, n }) => [reason, n]))
}

/** Joins `attempt` to trace `t`. Only pairs ask for it, because it looks for all replays of the project. */
function attempt(sql: Queryable, { orgId, projectId, recipe }: Selection) {
  return recipe.dataset_type === 'dpo'
    ? attemptedTask(sql, orgId, projectId)
    : sql`cross join (select null::text as task) attempt`
}

/** Joins correction `c` to trace `t`. A kto row labels the recorded output, so it takes no correction. */
function newestCorrection(sql: Queryable, { dataset_type: type }: Recipe) {
  return sql`left join lateral (
    select a.id, octet_length(a.corrected_output) as bytes from annotations a
    where ${type !== 'kto'} and a.org_id = t.org_id and a.project_id = t.project_id
      and a.trace_id = t.trace_id and a.corrected_output is not null
    order by a.created_at desc, a.id desc limit 1) c on true`
}

/** Joins to trace `t` what a person said who compared it with another. Only pairs ask for it. */
function preference(sql: Queryable, { dataset_type: type }: Recipe) {
  return sql`left join lateral (
    select case s.value when 1 then true when 0 then false end as preferred,
      s.metadata ->> 'pair_id' as pair_id
    from eval_scores s
    where ${type === 'dpo'} and s.org_id = t.org_id and s.project_id = t.project_id
      and s.trace_id = t.trace_id and s.span_id = '' and s.name = ${PREFERENCE}
      and s.source = 'human' and s.identifier = ${PREFERENCE}) h on true`
}

function judgedTraces(sql: Queryable) {
  return sql`traces t left join verdicts v
    on v.org_id = t.org_id and v.project_id = t.project_id and v.trace_id = t.trace_id
    left join manifests m on t.manifest_id is null and m.org_id = t.org_id
      and m.project_id = t.project_id and m.agent_name = t.agent_name
      and m.manifest_hash = 'sha256:' || t.manifest_hash`
}

/** The manifest of trace `t`, also while it is tied to it by its hash alone. */
function manifestId(sql: Queryable) {
  return sql`coalesce(t.manifest_id, m.id)`
}

function ofProject(sql: Queryable, { orgId, projectId }: Omit<Selection, 'recipe'>) {
  return sql`t.org_id = ${orgId} and t.project_id = ${projectId}`
}

function passing(sql: Queryable, selection: Conditional) {
  return conditions(sql, selection).map(([, condition]) => sql`and ${condition}`)
}

/** What a trace must be, by name, in the order in which it is counted. What is null or empty filters nothing. */
function conditions(
  sql: Queryable,
  { orgId, recipe: { filters, options }, isAnyTaken = false }: Conditional,
) {
  const { agent_name, manifest_ids, verdicts, eval_verdict, min_eval_score, tags, tool } = filters
  const all = [
    ['agent_name', agent_name, sql`t.agent_name = ${agent_name}`],
    ['manifest_ids', manifest_ids, ofAnyManifest(sql, orgId, manifest_ids)],
    ['source_type', filters.source_type, sql`t.source_type = ${filters.source_type}`],
    ['status', filters.status, sql`t.status = ${filters.status}`],
    ['since', filters.since, sql`t.started_at >= ${filters.since}::timestamptz`],
    ['until', filters.until, sql`t.started_at < ${filters.until}::timestamptz`],
    ['tags', tags, sql`t.tags @> ${tags}::text[]`],
    ['tool', tool, sql`${tool} = any(t.tools_called)`],
    ['unjudged', isAnyTaken ? null : true, sql`v.verdict is not null`],
    ['verdicts', verdicts, sql`v.verdict = any(${verdicts}::text[])`],
    ['eval_verdict', eval_verdict, sql`v.eval_verdict = ${eval_verdict}`],
    ['min_eval_score', min_eval_score, sql`v.quality_avg >= ${min_eval_score}::float8`],
    ['needs_review', options.include_needs_review ? null : true, sql`not v.needs_review`],
  ] as const
  return all.flatMap(([name, given, condition]) => {
    const filters = given !== null && !(Array.isArray(given) && given.length === 0)
    return filters ? [[name, condition] as const] : []
  })
}

function ofAnyManifest(sql: Queryable, orgId: string, ids: readonly string[]) {
  return sql`(false ${ids.map((id) => sql`or ${ofManifest(sql, orgId, id)}`)})`
}

/** Scores of the whole trace by name; a mean is summed in one order, so that its last digit never changes. */
function scores(sql: Queryable) {
  return sql`(
    select json_object_agg(name, mean order by name collate "C") from (
      select name, avg(value order by source collate "C", identifier collate "C") as mean
      from eval_scores s
      where s.org_id = t.org_id and s.project_id = t.project_id and s.trace_id = t.trace_id
        and s.span_id = '' and s.value is not null
      group by name) as named)`
}

function scoreFingerprint(sql: Queryable) {
  return sql`(
    select sha256(convert_to(coalesce(string_agg(
      concat_ws(E'\\x1f', name, source, span_id, identifier, value, label, passed), E'\\x1e'
      order by name collate "C", source collate "C", span_id collate "C", identifier collate "C"),
      ''), 'UTF8'))
    from eval_scores s
    where s.org_id = t.org_id and s.project_id = t.project_id and s.trace_id = t.trace_id)`
}

/** What decides which traces pass. */
interface Conditional {
  readonly orgId: string
  readonly recipe: {
    readonly filters: Filters
    readonly options: Pick<Options, 'include_needs_review'>
  }
  /** Traces without a decision are among them, where the filters ask for none. Default false. */
  readonly isAnyTaken?: boolean
}
