import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import { insertTraces } from '../../sql/traces/trace-inserts.ts'
import { jsonText } from '../../sql/core/db.ts'
import type { Sql } from '../../sql/core/db.ts'

/** A trace as the wire has it, with the verdict and scores it is to have. */
export interface JudgedTrace {
  readonly trace_id: string
  readonly messages?: readonly object[]
  readonly tools?: readonly object[]
  /** Default 1; null for a trace without scores. */
  readonly quality?: number | null
  /** Default by quality, with the thresholds of the default policy; null for a trace without a verdict. */
  readonly verdict?: 'keep' | 'repair' | 'replay' | 'drop' | null
  readonly needs_review?: boolean
  readonly reasons?: readonly object[]
  /** The manifest the verdict speaks of. */
  readonly target_manifest_id?: string
  /** Further members of the trace. */
  readonly [member: string]: unknown
}

/** Stores traces with their verdicts, as if they had been judged. */
export async function storeJudged(
  sql: Sql,
  { orgId, projectId }: { orgId: string; projectId: string },
  traces: readonly JudgedTrace[],
  form: ContentForm = 'shared',
) {
  const owner = { org_id: orgId, project_id: projectId }
  const rows = traces.map((trace) => ({ ...toTraceRow(asTrace(trace), form), ...owner }))
  const verdicts = traces.filter(({ verdict }) => verdict !== null).map((trace) => asVerdict(trace))
  const scores = traces.filter(({ quality }) => quality !== null)
  // At one time, so that all of it is of one month.
  await sql.begin(async (tx) => {
    await insertTraces(tx, rows)
    await tx`
      insert into verdicts (org_id, project_id, period, trace_id, verdict, needs_review, quality_avg,
        eval_verdict, reasons, target_manifest_id, policy_agent_name, policy_version)
      select ${orgId}, ${projectId}, storing_period(), trace_id, verdict, needs_review, quality_avg,
        eval_verdict, reasons, target_manifest_id, '', 0
      from json_populate_recordset(null::verdicts, ${jsonText(verdicts)}::text::json)`
    await tx`
      insert into eval_scores (org_id, project_id, period, trace_id, name, source, score_id, value,
        data_type, category, source_kind)
      select ${orgId}, ${projectId}, storing_period(), trace_id, 'reward', 'custom', gen_random_uuid(), quality, 'numeric',
        'quality', 'custom'
      from unnest(${scores.map(({ trace_id }) => trace_id)}::text[],
        ${scores.map(({ quality = 1 }) => quality as number)}::float8[]) as s (trace_id, quality)`
  })
}

function asTrace(judged: JudgedTrace) {
  const {
    messages = hello('you'),
    tools,
    quality: _q,
    verdict: _v,
    needs_review: _n,
    reasons: _r,
    target_manifest_id: _t,
    ...members
  } = judged
  const calls = [{ rendered_input: messages, ...(tools && { tools }) }]
  const read = readTrace(
    { agent_name: 'agent', llm_calls: calls, ...members },
    { traceId: () => '', now: new Date('2026-01-01T00:00:00Z') },
  )
  if ('faults' in read) throw new Error(JSON.stringify(read.faults))
  return read.trace
}

/** A row of a trace in which nothing happened. */
export function emptyRow(traceId: string, agentName = 'agent') {
  return toTraceRow(asTrace({ trace_id: traceId, agent_name: agentName, messages: [] }), 'shared')
}

function asVerdict(judged: JudgedTrace) {
  const { trace_id, quality = 1, verdict, needs_review = false, reasons } = judged
  const good = quality !== null && quality >= 0.7
  const bad = quality !== null && quality < 0.4
  return {
    trace_id,
    verdict: verdict ?? (bad ? 'drop' : 'keep'),
    needs_review,
    quality_avg: quality,
    eval_verdict: quality === null ? null : good ? 'pass' : bad ? 'fail' : 'review',
    reasons: reasons ?? [{ rule: 12, code: 'score.good', subject: 'quality', message: '' }],
    target_manifest_id: judged.target_manifest_id ?? null,
  }
}

/** A conversation that another name makes another one. */
export function hello(name: string) {
  return [
    { role: 'user', content: name },
    { role: 'assistant', content: `Hello, ${name}` },
  ]
}
