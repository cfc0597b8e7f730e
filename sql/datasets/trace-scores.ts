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
 * What the scores of these traces say, by trace id; traces without scores are missing. The sort is in
 * byte order, so that means have the same last digit and fingerprints the same bytes in every database.
 */
export async function listScores(
  sql: Queryable,
  selection: Selection,
  traces: readonly PlacedTrace[],
) {
  const inOrder = sql`order by name collate "C", source collate "C", span_id collate "C",
    identifier collate "C"`
  const counts = sql`span_id = '' and value is not null`
  const rows = await sql<TraceScores[]>`
    select trace_id,
      json_agg(name ${inOrder}) filter (where ${counts}) as names,
      json_agg(value ${inOrder}) filter (where ${counts}) as values,
      sha256(convert_to(string_agg(
        concat_ws(E'\\x1f', name, source, span_id, identifier, value, label, passed), E'\\x1e' ${inOrder}),
        'UTF8')) as score_fingerprint,
      ${preference(sql, selection.recipe)}
    from eval_scores
    where ${ofPlaced(sql, selection, traces)}
    group by trace_id`
  return new Map(rows.map((row) => [row.trace_id, toldBy(row)]))
}

function toldBy({ names, values, preferred, pair_id, score_fingerprint }: TraceScores) {
  return { scores: meansOf(names ?? [], values ?? []), preferred, pair_id, score_fingerprint }
}

/** The mean of the values of each name, added up in their order. */
function meansOf(names: readonly string[], values: readonly number[]) {
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

interface TraceScores extends Omit<ToldByScores, 'scores'> {
  readonly trace_id: string
  /** Those with a value that are of no span, by name; null where there is none. */
  readonly names: readonly string[] | null
  /** Beside `names`. */
  readonly values: readonly number[] | null
}
