import { setImmediate } from 'node:timers/promises'
import { judgeTrace } from '../jobs/rules/judgement.ts'
import type { Judgement, JudgedTrace } from '../jobs/rules/judgement.ts'
import type { JudgedScore } from '../jobs/rules/quality.ts'
import { listFlagged } from './annotations.ts'
import { listBrokenOutputs } from './contract-violations.ts'
import type { Queryable, Transaction } from './db.ts'
import { listCurrentPolicies } from './decision-policies.ts'
import { upsertScores } from './eval-scores.ts'
import { listChecks } from './evaluators.ts'
import { withOutputs } from './final-outputs.ts'
import { markCellsDirty } from './score-cells.ts'
import { listFits } from './trace-examinations.ts'
import { indexTraces } from './trace-search.ts'
import type { TraceKey } from './traces.ts'
import { upsertVerdicts } from './verdicts.ts'
import type { VerdictRow } from './verdicts.ts'

/**
 * Judges traces of a project: scores of the built-in evaluators, decision, search index, and the mark
 * on the cells of what has changed. Those that are still running are made searchable, and no more.
 * Locks the traces, so that of two judgements at once the later one sees the scores the other saw, and
 * more. Judging again with nothing new changes nothing.
 * @returns `judged`, and the copies whose decision names no older trace yet and so has to be made anew
 */
export async function judgeTraces(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
): Promise<{ judged: string[]; copies: string[]; changed: boolean }> {
  const locked = await lockJudged(tx, orgId, projectId, traceIds)
  await indexTraces(tx, orgId, projectId, traceIds)
  const judged = locked.map(({ trace_id }) => trace_id)
  if (judged.length === 0) return { judged, copies: [], changed: false }
  const [family, given, checks, policies, fits, broken, flagged] = await Promise.all([
    listOldest(tx, orgId, projectId, locked),
    listJudgedScores(tx, orgId, projectId, judged),
    listChecks(tx, orgId, projectId),
    listCurrentPolicies(tx, orgId, projectId),
    listFits(tx, orgId, projectId, judged),
    listBrokenOutputs(tx, orgId, projectId, judged),
    listFlagged(tx, orgId, projectId, judged),
  ])
  const oldest = new Map(family.map((trace) => [trace.trace_id, trace.oldest]))
  const scoresOf = Map.groupBy(given, ({ trace_id }) => trace_id)
  const fitOf = new Map(fits.map((fit) => [fit.trace_id, fit]))
  const brokenOf = new Map(broken.map(({ trace_id, subject }) => [trace_id, subject]))

  const judgements: (Judgement & { trace: JudgedTrace })[] = []
  for await (const { row, output } of withOutputs(tx, orgId, projectId, locked, checks)) {
    const first = oldest.get(row.trace_id) ?? row.trace_id
    const trace = {
      ...row,
      duplicate_of: first === row.trace_id ? null : first,
      fit: fitOf.get(row.trace_id) ?? null,
      broken_output: brokenOf.get(row.trace_id) ?? null,
      flagged: flagged.has(row.trace_id),
    }
    const scores = scoresOf.get(row.trace_id) ?? []
    judgements.push({ trace, ...judgeTrace(trace, scores, checks, policies, output) })
    // Patterns over long outputs take their time: between traces it is the turn of others.
    if (output !== '') await setImmediate()
  }
  const changed = await storeJudgements(tx, orgId, projectId, judgements)
  await markCellsDirty(tx, orgId, projectId, changed)
  const own = new Set(judged)
  const copies = family.map(({ trace_id }) => trace_id).filter((id) => !own.has(id))
  return { judged, copies, changed: changed.length > 0 }
}

/**
 * The oldest of the other traces with the conversation of this one: what has to be judged anew when
 * this one goes. The further copies follow from that. None when it has no conversation.
 */
export async function listCopies(sql: Queryable, { org_id, project_id, trace_id }: TraceKey) {
  const rows = await sql<{ trace_id: string }[]>`
    select c.trace_id
    from traces t join traces c using (org_id, project_id, content_hash)
    where t.org_id = ${org_id} and t.project_id = ${project_id} and t.trace_id = ${trace_id}
      and c.trace_id <> ${trace_id} and c.status <> 'running'
    order by c.started_at, c.created_at, c.trace_id limit 1`
  return rows.map(({ trace_id }) => trace_id)
}

/** Returns the ids of the traces of which something is another now. */
async function storeJudgements(
  tx: Transaction,
  orgId: string,
  projectId: string,
  judgements: readonly (Judgement & { trace: JudgedTrace })[],
) {
  const scores = judgements.flatMap(({ trace: { trace_id }, scores }) =>
    scores.map((score) => ({ ...score, trace_id })),
  )
  const changedScores = await upsertScores(tx, orgId, projectId, scores)
  const changedVerdicts = await upsertVerdicts(tx, orgId, projectId, judgements.map(toVerdictRow))
  return [...new Set([...changedScores, ...changedVerdicts])]
}

function toVerdictRow(judgement: Judgement & { trace: JudgedTrace }): VerdictRow {
  const { trace, decision, policy } = judgement
  return {
    trace_id: trace.trace_id,
    ...decision,
    counterfactual: judgement.counterfactual,
    duplicate_of: trace.duplicate_of,
    policy_agent_name: policy.agent_name,
    policy_version: policy.version,
    target_manifest_id: trace.fit?.target_manifest_id ?? null,
  }
}

/** `metadata.consent: false` and `metadata.do_not_train: true` are the marks that forbid training. */
async function lockJudged(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return tx<
    (Omit<JudgedTrace, 'duplicate_of' | 'fit' | 'broken_output' | 'flagged'> & {
      content_hash: Buffer | null
      content_bytes: number
    })[]
  >`
    select trace_id, agent_name, status, content_hash, coalesce(btrim(final_output_preview), '') <> '' as has_output,
      coalesce(user_input_preview, '') <> '' as has_input,
      tool_call_count, tool_error_count, llm_call_count, output_tokens, cost_usd, llm_latency_ms, malformed,
      octet_length(content) as content_bytes,
      case when metadata -> 'consent' = 'false' or metadata -> 'do_not_train' = 'true'
        then 'policy.consent' end as forbidden
    from traces
    where org_id = ${orgId} and project_id = ${projectId}
      and trace_id = any(${traceIds as string[]}::text[]) and status <> 'running'
    order by trace_id for no key update`
}

/**
 * Of each trace the oldest one that has the same conversation, by start, arrival and id. Besides, of
 * traces that are the oldest themselves, the copies that do not say so yet: these may have been judged
 * before the older one was there, or not at all.
 */
async function listOldest(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traces: readonly { trace_id: string; content_hash: Buffer | null }[],
) {
  // The driver takes a list of bytes for bytes; a text can be cast to a list of them.
  const hashes = traces.flatMap(({ content_hash }) => content_hash?.toString('hex') ?? [])
  const list = `{${hashes.map((hash) => `"\\\\x${hash}"`).join()}}`
  const ids = traces.map(({ trace_id }) => trace_id)
  return tx<{ trace_id: string; oldest: string }[]>`
    with copies as materialized (
      select trace_id, first_value(trace_id) over (
        partition by content_hash order by started_at, created_at, trace_id) as oldest
      from traces
      where org_id = ${orgId} and project_id = ${projectId} and status <> 'running'
        and content_hash = any((select ${list}::text::bytea[])::bytea[])
    )
    select trace_id, oldest from copies where trace_id = any(${ids}::text[])
    union all
    select c.trace_id, c.oldest from copies c
    left join verdicts v on v.org_id = ${orgId} and v.project_id = ${projectId}
      and v.trace_id = c.trace_id
    where c.oldest = any(${ids}::text[]) and c.trace_id <> all(${ids}::text[])
      and v.duplicate_of is distinct from c.oldest`
}

async function listJudgedScores(
  tx: Transaction,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
) {
  return tx<(JudgedScore & { trace_id: string })[]>`
    select trace_id, name, source, source_kind, source_label, value, passed, category,
      metadata ->> 'family' as family
    from eval_scores
    where org_id = ${orgId} and project_id = ${projectId}
      and trace_id = any(${traceIds as string[]}::text[])`
}
