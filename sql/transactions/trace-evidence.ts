import { setImmediate } from 'node:timers/promises'
import type { Policy } from '../../jobs/rules/evals/decision-policy.ts'
import { judgeTrace, needsOutput } from '../../jobs/rules/evals/judgement.ts'
import type { Judgement, JudgedTrace } from '../../jobs/rules/evals/judgement.ts'
import type { Queryable } from '../core/db.ts'
import { listCurrentPolicies } from '../evals/decision-policies.ts'
import { listChecks } from '../evals/evaluators.ts'
import { withOutputs } from '../evals/final-outputs.ts'
import { listJudgedScores, listOldest } from '../evals/judgements.ts'
import type { LockedTrace } from '../evals/judgements.ts'
import { listDecided } from '../evals/verdicts.ts'
import { listBrokenOutputs } from '../manifests/contract-violations.ts'
import { listFits } from '../manifests/trace-examinations.ts'
import { listCorrected, listFlagged } from '../traces/annotations.ts'

/** Reads what traces are judged by, besides their own columns and outputs. */
export async function readEvidence(
  sql: Queryable,
  orgId: string,
  projectId: string,
  locked: readonly LockedTrace[],
) {
  const ids = locked.map(({ trace_id }) => trace_id)
  const [family, given, decided, checks, policies, fits, broken, flagged, corrected] =
    await Promise.all([
      listOldest(sql, orgId, projectId, locked),
      listJudgedScores(sql, orgId, projectId, ids),
      listDecided(sql, orgId, projectId, ids),
      listChecks(sql, orgId, projectId),
      listCurrentPolicies(sql, orgId, projectId),
      listFits(sql, orgId, projectId, ids),
      listBrokenOutputs(sql, orgId, projectId, ids),
      listFlagged(sql, orgId, projectId, ids),
      listCorrected(sql, orgId, projectId, ids),
    ])
  return {
    /** The traces, and `MAX_COPIES` at most of the copies that are to be judged anew. */
    family,
    /** What they were decided before. */
    decided,
    checks,
    policies,
    oldest: new Map(family.map((trace) => [trace.trace_id, trace.oldest])),
    scores: Map.groupBy(
      given.filter(({ rates_skill }) => !rates_skill),
      ({ trace_id }) => trace_id,
    ),
    /** The traces in which skills were rated. */
    rated: new Set(given.filter(({ rates_skill }) => rates_skill).map(({ trace_id }) => trace_id)),
    fits: new Map(fits.map((fit) => [fit.trace_id, fit])),
    broken: new Map(broken.map(({ trace_id, subject }) => [trace_id, subject])),
    flagged,
    /** By trace, the annotation that corrects it. */
    corrected: new Map(corrected.map(({ trace_id, id }) => [trace_id, id])),
  }
}

/** Judges traces in memory; nothing is stored. One whose content cannot be opened holds up no other. */
export async function judge(
  sql: Queryable,
  orgId: string,
  projectId: string,
  locked: readonly LockedTrace[],
  { oldest, scores, fits, broken, flagged, corrected, checks, policies }: TraceEvidence,
) {
  const isRead = ({ agent_name }: LockedTrace) => needsOutput(checks, agent_name)
  const judgements: TraceJudgement[] = []
  const unreadable: UnreadableTrace[] = []
  for await (const opened of withOutputs(sql, orgId, projectId, locked, isRead)) {
    const { row } = opened
    const { trace_id } = row
    if ('fault' in opened) {
      unreadable.push({ trace_id, fault: opened.fault })
      continue
    }
    const { output } = opened
    const first = oldest.get(trace_id) ?? trace_id
    const trace = {
      ...row,
      duplicate_of: first === trace_id ? null : first,
      fit: fits.get(trace_id) ?? null,
      broken_output: broken.get(trace_id) ?? null,
      flagged: flagged.get(trace_id) ?? null,
      correction: corrected.get(trace_id) ?? null,
    }
    const given = scores.get(trace_id) ?? []
    judgements.push({ trace, ...judgeTrace(trace, given, checks, policies, output) })
    // Matching patterns in a long output takes time, so other work gets its turn between traces.
    if (output !== '') await setImmediate()
  }
  return { judgements, unreadable }
}

/** A trace that was not judged, and why its content cannot be opened. */
export interface UnreadableTrace {
  readonly trace_id: string
  readonly fault: unknown
}
export type TraceJudgement = Judgement & { trace: JudgedTrace }
export type TraceEvidence = Omit<Awaited<ReturnType<typeof readEvidence>>, 'policies'> & {
  /** Those that hold, or others to see what these would decide. */
  readonly policies: readonly Policy[]
}
