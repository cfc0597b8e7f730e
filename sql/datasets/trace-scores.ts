import { createHash } from 'node:crypto'
import { PREFERENCE } from '../../jobs/rules/datasets/pairs.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import type { Queryable } from '../core/db.ts'
import type { Selection } from './trace-filters.ts'

/** The fingerprint of a trace without scores. */
export const UNSCORED = createHash('sha256').digest()

/**
 * Joins to trace `t` what its scores say, as `told`, whose columns are null where it has none: `names` and
 * `values` of those with a value that are of no span, beside each other; `preferred` and `pair_id`; the
 * `fingerprint`, SHA-256 over all scores. They are in byte order, so that means have the same last digit
 * and fingerprints the same bytes in every database.
 * @param areAll reads those of all traces of the project in one go, sorted, instead of those of trace `t`
 */
export function scoresOf(sql: Queryable, { orgId, projectId, recipe }: Selection, areAll: boolean) {
  const inOrder = sql`order by name collate "C", source collate "C", span_id collate "C",
    identifier collate "C"`
  // As of `concat_ws`, which takes twice as long.
  const given = sql`|| coalesce(E'\\x1f' || value, '') || coalesce(E'\\x1f' || label, '')
    || case passed when true then E'\\x1ft' when false then E'\\x1ff' else '' end`
  const counts = sql`span_id = '' and value is not null`
  return sql`left join lateral (
    select period, trace_id,
      json_agg(name ${inOrder}) filter (where ${counts}) as names,
      json_agg(value ${inOrder}) filter (where ${counts}) as values,
      sha256(convert_to(string_agg(
        name || E'\\x1f' || source || E'\\x1f' || span_id || E'\\x1f' || identifier ${given},
        E'\\x1e' ${inOrder}), 'UTF8')) as fingerprint,
      ${preference(sql, recipe)}
    from eval_scores
    where org_id = ${orgId} and project_id = ${projectId}
      ${areAll ? sql`` : sql`and period = t.period and trace_id = t.trace_id`}
    group by trace_id, period) told on told.period = t.period and told.trace_id = t.trace_id`
}

/** The mean of the values of each name, added up in their order. */
export function meansOf(names: readonly string[], values: readonly number[]) {
  const means: [string, number][] = []
  for (let start = 0, end = 0; start < names.length; start = end) {
    let sum = 0
    while (end < names.length && names[end] === names[start]) sum += values[end++] ?? 0
    means.push([names[start] ?? '', sum / (end - start)])
  }
  // Unlike members that are set, those of entries can have any name.
  return Object.fromEntries(means)
}

/** What a person said who compared the trace with another. Only pairs ask for it. */
function preference(sql: Queryable, { dataset_type: type }: Recipe) {
  if (type !== 'dpo') return sql`null::boolean as preferred, null as pair_id`
  const isPreference = sql`name = ${PREFERENCE} and source = 'human' and span_id = ''
    and identifier = ${PREFERENCE}`
  return sql`
    bool_or(case value when 1 then true when 0 then false end) filter (where ${isPreference}) as preferred,
    min(metadata ->> 'pair_id') filter (where ${isPreference}) as pair_id`
}
