import type { Filters } from '../../jobs/rules/datasets/filters.ts'
import { OUTPUT_CORRECTED } from '../../jobs/rules/core/verdicts.ts'
import { takesCorrections } from '../../jobs/rules/datasets/recipe.ts'
import type { Options, Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { jsonText } from '../core/db.ts'
import type { Queryable } from '../core/db.ts'
import { newestCorrections } from '../traces/annotations.ts'
import { ofManifest, withVerdict } from '../traces/traces.ts'

export interface Selection {
  readonly orgId: string
  readonly projectId: string
  readonly recipe: Recipe
}

/** What follows `from` to read the traces `t` of a project that pass filters, also those that nothing was decided on. */
export function filteredTraces(
  sql: Queryable,
  { orgId, projectId, filters }: { orgId: string; projectId: string; filters: Filters },
) {
  const recipe = { filters, options: { include_needs_review: true } }
  return sql`${judgedTraces(sql)} ${noCorrection(sql)} where ${ofProject(sql, { orgId, projectId })}
    ${passing(sql, { orgId, recipe, isAnyTaken: true })}`
}

/**
 * How many traces the project has, how many of them each filter left out, as `filtered.<name>`, and how many
 * pass. A trace counts for the first filter it fails.
 */
export async function countFiltered(sql: Queryable, selection: Selection) {
  const filters = conditions(sql, selection)
  const rows = await sql<{ reason: string | null; n: number }[]>`
    select reason, count(*) as n from (
      select case ${filters.map(
        ([name, condition]) => sql`when (${condition}) is not true then ${`filtered.${name}`} `,
      )} end as reason
      from ${judgedTraces(sql)} ${correctionOf(sql, selection, { areMost: true })}
      where ${ofProject(sql, selection)}) as traces
    group by reason order by reason`
  const filtered = new Map<string, number>()
  let [all, passing] = [0, 0]
  for (const { reason, n } of rows) {
    all += n
    if (reason === null) passing = n
    else filtered.set(reason, n)
  }
  return { filtered, all, passing }
}

/** Traces `t` with their verdicts `v`. */
export function judgedTraces(sql: Queryable) {
  return sql`traces t ${withVerdict(sql)}`
}

/**
 * Joins to trace `t` the `correction` that its rows take; null where they take none.
 * @param areMost whether most traces of the project are read: then all its corrections are read together,
 * else they are looked up trace by trace
 */
export function correctionOf(
  sql: Queryable,
  { orgId, projectId, recipe }: Selection,
  { areMost }: { readonly areMost: boolean },
) {
  if (!takesCorrections(recipe)) return noCorrection(sql)
  const ofTrace = areMost ? sql`` : sql`and trace_id = t.trace_id`
  const looked = sql`org_id = ${orgId} and project_id = ${projectId} ${ofTrace}`
  return sql`left join lateral (${newestCorrections(sql, looked)}) correction
    on correction.trace_id = t.trace_id`
}

function noCorrection(sql: Queryable) {
  return sql`cross join (select null::uuid as id, null::int as bytes) correction`
}

/** The condition that trace `t` is of the project. */
export function ofProject(sql: Queryable, { orgId, projectId }: Omit<Selection, 'recipe'>) {
  return sql`t.org_id = ${orgId} and t.project_id = ${projectId}`
}

/** The conditions, each after an `and`, that trace `t` with verdict `v` and `correction` passes every filter. */
export function passing(sql: Queryable, selection: Conditional) {
  return conditions(sql, selection).map(([, condition]) => sql`and ${condition}`)
}

/**
 * What a trace must be, by name, in the order in which it is counted. What is null or empty filters nothing.
 * What a corrected trace gives to learn is not what was scored.
 */
function conditions(
  sql: Queryable,
  { orgId, recipe: { filters, options }, isAnyTaken = false }: Conditional,
) {
  const { agent_name, manifest_ids, verdicts, eval_verdict, min_eval_score, tags, tool } = filters
  const isCorrected = sql`correction.id is not null`
  // Whoever corrected the output has looked at the correction, not at what is left without it.
  const needsReview = sql`(v.needs_review or (correction.id is null
    and v.reasons @> ${jsonText([{ code: OUTPUT_CORRECTED }])}::text::jsonb))`
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
    ['eval_verdict', eval_verdict, sql`(${isCorrected} or v.eval_verdict = ${eval_verdict})`],
    [
      'min_eval_score',
      min_eval_score,
      sql`(${isCorrected} or v.quality_avg >= ${min_eval_score}::float8)`,
    ],
    ['needs_review', options.include_needs_review ? null : true, sql`not ${needsReview}`],
  ] as const
  return all.flatMap(([name, given, condition]) => {
    const filters = given !== null && !(Array.isArray(given) && given.length === 0)
    return filters ? [[name, condition] as const] : []
  })
}

function ofAnyManifest(sql: Queryable, orgId: string, ids: readonly string[]) {
  return sql`(false ${ids.map((id) => sql`or ${ofManifest(sql, orgId, id)}`)})`
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
