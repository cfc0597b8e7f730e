import { createHash } from 'node:crypto'
import type { Candidate } from '../../jobs/rules/datasets/candidates.ts'
import { PREFERENCE } from '../../jobs/rules/datasets/pairs.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import type { Queryable } from '../core/db.ts'
import { ofPlaced } from './placed-traces.ts'
import type { PlacedTrace } from './placed-traces.ts'
import type { Selection } from './trace-filters.ts'

/** What scores say of a trace. */
export type ToldByScores = Pick<Candidate, 'scores' | 'preferred' | 'pair_id'> & {
  /** SHA-256 over all scores of the trace. */
  readonly score_fingerprint: Buffer
}

/** Of a trace without scores. */
export const UNSCORED: ToldByScores = {
  scores: {},
  preferred: null,
  pair_id: null,
  score_fingerprint: createHash('sha256').digest(),
}

/**
 * What the scores of these traces say, by trace id; traces without scores are missing. The sorts are in
 * byte order, so that means have the same last digit and fingerprints the same bytes in every database.
 */
export async function listScores(
  sql: Queryable,
  selection: Selection,
  traces: readonly PlacedTrace[],
) {
  const rows = await sql<({ trace_id: string } & ToldByScores)[]>`
    select trace_id,
      coalesce(json_object_agg(name, mean order by name) filter (where mean is not null), '{}') as scores,
      bool_or(preferred) as preferred, min(pair_id) as pair_id,
      sha256(convert_to(string_agg(told, E'\\x1e' order by name), 'UTF8')) as score_fingerprint
    from (
      select trace_id, name collate "C" as name,
        avg(value order by ${inOrder(sql)}) filter (where span_id = '') as mean,
        string_agg(concat_ws(E'\\x1f', name, source, span_id, identifier, value, label, passed), E'\\x1e'
          order by ${inOrder(sql)}) as told,
        ${preference(sql, selection.recipe)}
      from eval_scores
      where ${ofPlaced(sql, selection, traces)}
      group by trace_id, name collate "C") named
    group by trace_id`
  return new Map(rows.map(({ trace_id, ...told }) => [trace_id, told]))
}

/** The order of the scores of one name. */
function inOrder(sql: Queryable) {
  return sql`source collate "C", span_id collate "C", identifier collate "C"`
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
