import { randomUUIDv7 } from 'node:crypto'
import { order } from '../../jobs/rules/core/order.ts'
import type { MadeScore } from '../../jobs/rules/evals/judgement.ts'
import { identityOf } from '../../jobs/rules/evals/score.ts'
import type { NewScore } from '../../jobs/rules/evals/score.ts'
import type { Queryable } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { ofTrace, ofTraces } from '../traces/traces.ts'
import type { TraceKey } from '../traces/traces.ts'

export type TraceScore = NewScore & { trace_id: string }
export type ScoreRow = TraceScore & { score_id: string; created_at: Date; updated_at: Date }

/**
 * Stores scores of a project's traces. A score replaces the one with the same identity and keeps its
 * id; when nothing differs the row stays untouched. Of two rows with one identity the last is taken.
 * @returns the ids of the traces of which a score is new or differs
 */
export async function upsertScores(
  sql: Queryable,
  orgId: string,
  projectId: string,
  rows: readonly TraceScore[],
) {
  const changed = await upsertEachScore(sql, orgId, projectId, rows)
  return [...new Set(changed)]
}

/** As `upsertScores`. @returns the id of the trace for each score that is new or differs */
export async function upsertEachScore(
  sql: Queryable,
  orgId: string,
  projectId: string,
  rows: readonly TraceScore[],
) {
  if (rows.length === 0) return []
  const unique = new Map(rows.map((row) => [`${row.trace_id}\0${identityOf(row)}`, row]))
  const ordered = [...unique].sort(([a], [b]) => order(a, b)).map(([, row]) => asJson(row))
  const changed = await sql<{ trace_id: string }[]>`
    insert into eval_scores as s (org_id, project_id, period, trace_id, name, source, span_id, identifier,
      score_id, value, data_type, label, passed, reason, category, category_detail, source_kind,
      source_label, evaluator_version, metadata)
    select ${orgId}, ${projectId}, k.period, trace_id, name, source, span_id, identifier, score_id, value,
      data_type, label, passed, reason, category, category_detail, source_kind, source_label,
      evaluator_version, metadata
    from json_populate_recordset(null::eval_scores, ${jsonText(ordered)}::text::json)
      with ordinality as given
    join trace_ids k using (trace_id)
    where k.org_id = ${orgId} and k.project_id = ${projectId} order by ordinality
    on conflict (org_id, project_id, trace_id, name, source, span_id, identifier, period) do update set
      value = excluded.value, data_type = excluded.data_type, label = excluded.label,
      passed = excluded.passed, reason = excluded.reason, category = excluded.category,
      category_detail = excluded.category_detail, source_kind = excluded.source_kind,
      source_label = excluded.source_label,
      evaluator_version = excluded.evaluator_version, metadata = excluded.metadata, updated_at = now()
    where (s.value, s.data_type, s.label, s.passed, s.reason, s.category, s.category_detail, s.source_kind,
        s.source_label, s.evaluator_version, s.metadata)
      is distinct from (excluded.value, excluded.data_type, excluded.label, excluded.passed,
        excluded.reason, excluded.category, excluded.category_detail, excluded.source_kind,
        excluded.source_label, excluded.evaluator_version, excluded.metadata)
    returning s.trace_id`
  return changed.map(({ trace_id }) => trace_id)
}

/** Those of the traces that have scores. */
export async function listScored(
  sql: Queryable,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  const scored = await sql<{ trace_id: string }[]>`
    select distinct trace_id from eval_scores where ${ofTraces(sql, orgId, projectId, traceIds)}`
  return scored.map(({ trace_id }) => trace_id)
}

/** Deletes scores that judgement has made of traces. */
export async function deleteMadeScores(
  sql: Queryable,
  orgId: string,
  projectId: string,
  made: readonly (MadeScore & { trace_id: string })[],
) {
  await sql`
    delete from eval_scores s
    using unnest(${made.map(({ trace_id }) => trace_id)}::text[], ${made.map(({ name }) => name)}::text[],
      ${made.map(({ source }) => source)}::text[]) as made (trace_id, name, source)
    where ${ofTraces(
      sql,
      orgId,
      projectId,
      made.map(({ trace_id }) => trace_id),
      sql`s.`,
    )}
      and s.trace_id = made.trace_id
      and s.name = made.name and s.source = made.source and s.span_id = '' and s.identifier = ''`
}

/** By source and name; a trace has at most a few thousand. */
export async function listScores(sql: Queryable, key: TraceKey) {
  return sql<ScoreRow[]>`
    select score_id, trace_id, span_id, name, value, data_type, label, passed, reason, category,
      category_detail, source, source_kind, source_label, evaluator_version, identifier, metadata, created_at, updated_at
    from eval_scores
    where ${ofTrace(sql, key)}
    order by source, name, span_id, identifier limit ${MAX_SCORES_SHOWN}`
}

function asJson(row: TraceScore) {
  return { ...row, score_id: randomUUIDv7() }
}

const MAX_SCORES_SHOWN = 10_000
