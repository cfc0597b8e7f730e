import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { EvalVerdict } from '../../jobs/rules/core/verdicts.ts'
import { policyFor } from '../../jobs/rules/evals/decision-policy.ts'
import { evalVerdict } from '../../jobs/rules/evals/verdict.ts'
import { compareRuns } from '../../jobs/rules/replay/comparison.ts'
import type { Comparison } from '../../jobs/rules/replay/comparison.ts'
import type { Transaction } from '../core/db.ts'
import { listCurrentPolicies } from '../evals/decision-policies.ts'
import { findRun, listRunJudgements } from '../replay/compared-runs.ts'
import type { RecordedRun, RunJudgement } from '../replay/compared-runs.ts'
import { judgeTraces } from './judge-traces.ts'

/** A replay and its original, of one project. */
export interface ReplayPair {
  readonly org_id: string
  readonly project_id: string
  readonly agent_name: string
  readonly original_trace_id: string
  /** Undefined when it is gone. */
  readonly original: RecordedRun | undefined
  /** Null where none is stored. */
  readonly replayed_trace_id: string | null
}

/** What the runner says of the replay. */
export interface ReplayReport {
  readonly failed: boolean
  readonly eval_score: number | null
  readonly eval_verdict: EvalVerdict | null
}

/** What is stored of a replay; it stays as it is whatever is said of either run later. */
export interface ReplayResult {
  readonly eval_score: number | null
  readonly eval_verdict: EvalVerdict | null
  /** Null when the original is gone. */
  readonly comparison: Comparison | null
}

/**
 * Judges a replay at once, and its original where nobody has yet, and compares the two. What the runner
 * says goes before the judgement. Like `judgeTraces` it is called late in a transaction.
 */
export async function compareReplay(
  tx: Transaction,
  queue: Queue,
  pair: ReplayPair,
  report: ReplayReport,
): Promise<ReplayResult> {
  const { org_id, project_id, replayed_trace_id, original } = pair
  const key = { org_id, project_id, trace_id: replayed_trace_id ?? '' }
  const run = replayed_trace_id === null ? undefined : await findRun(tx, key)
  const judgements = await judgePair(tx, queue, pair)
  const policies = await listCurrentPolicies(tx, org_id, project_id)
  const { settings } = policyFor(policies, pair.agent_name)
  const before = judgements.get(pair.original_trace_id)
  const after = judgements.get(replayed_trace_id ?? '')
  const eval_score = report.eval_score ?? after?.quality ?? null
  return {
    eval_score,
    eval_verdict: report.eval_verdict ?? evalVerdict(eval_score, settings),
    comparison:
      original && before
        ? compareRuns(
            { ...original, ...before },
            {
              run: run && after ? { ...run, ...after } : null,
              failed: report.failed,
              given: report.eval_score,
            },
            settings,
          )
        : null,
  }
}

async function judgePair(
  tx: Transaction,
  queue: Queue,
  { org_id, project_id, original_trace_id, replayed_trace_id }: ReplayPair,
): Promise<ReadonlyMap<string, RunJudgement>> {
  const ids = [original_trace_id, ...(replayed_trace_id === null ? [] : [replayed_trace_id])]
  const known = await listRunJudgements(tx, org_id, project_id, ids)
  const due = ids.filter((id) => id === replayed_trace_id || !known.get(id)?.isJudged)
  if (due.length === 0) return known
  await judgeTraces(tx, queue, org_id, project_id, due)
  // Of scores that came with a replay that was judged before; a first judgement asks for it itself. Last, as all who
  // judge do: asked for before, it would wait for one that waits for what is locked here.
  if (replayed_trace_id !== null && known.get(replayed_trace_id)?.isJudged)
    await requestAggregation(queue, tx, org_id, project_id)
  return listRunJudgements(tx, org_id, project_id, ids)
}
