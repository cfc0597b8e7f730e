import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { judgeTraces as judgeJob } from '../../jobs/judge-traces.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import type { Queue } from '../../jobs/queue.ts'
import { COPY } from '../../jobs/rules/evals/verdict-rules.ts'
import type { Decision } from '../../jobs/rules/evals/verdict.ts'
import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
import type { Transaction } from '../core/db.ts'
import { upsertScores } from '../evals/eval-scores.ts'
import { listLeaving, lockJudged, MAX_COPIES } from '../evals/judgements.ts'
import type { LockedTrace } from '../evals/judgements.ts'
import { markCellsDirty, markJudged } from '../evals/cell-marks.ts'
import { insertTraceSkills, listEvidenced } from '../evals/trace-skills.ts'
import { upsertVerdicts } from '../evals/verdicts.ts'
import type { VerdictRow } from '../evals/verdicts.ts'
import { markScoresDue } from '../skills/scores-due.ts'
import { indexTraces } from '../traces/trace-search.ts'
import { judge, readEvidence } from './trace-evidence.ts'
import type { TraceEvidence, TraceJudgement, UnreadableTrace } from './trace-evidence.ts'

/**
 * Judges traces of a project: stores the scores of the built-in evaluators and the decisions, indexes
 * the traces for search, and marks what the score cells and the scores of skills do not show yet. Traces
 * that are still running are only indexed; `unreadable` ones keep the decision they have. Judging again with
 * nothing new changes no score or decision.
 *
 * Enqueues the judging of copies whose decision names no older trace yet, and the aggregation of what it
 * has marked. Another transaction that does so for the same project waits for the end of this one, so
 * call it late.
 */
export async function judgeTraces(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  projectId: string,
  traceIds: readonly string[],
): Promise<JudgedTraces> {
  const all = await lockJudged(tx, orgId, projectId, traceIds)
  const locked = all.filter(({ status }) => status !== 'running')
  await indexTraces(tx, orgId, projectId, traceIds)
  if (locked.length === 0)
    return { judged: [], unreadable: [], verdicts: [], copies: [], changed: false }
  const ids = locked.map(({ trace_id }) => trace_id)
  const evidence = await readEvidence(tx, orgId, projectId, locked)
  const { judgements, unreadable } = await judge(tx, orgId, projectId, locked, evidence)
  const stored = await storeJudgements(tx, orgId, projectId, judgements, evidence)
  await markJudged(tx, orgId, projectId, stored.first)
  await markCellsDirty(tx, orgId, projectId, stored.moved)
  const own = new Set(ids)
  const copies = evidence.family.map(({ trace_id }) => trace_id).filter((id) => !own.has(id))
  await enqueueTraces(queue, tx, judgeJob, orgId, projectId, copies)
  // There may be further copies, which are found when those listed have been judged.
  if (copies.length === MAX_COPIES) {
    const options = { startAfterSeconds: COPIES_SECONDS }
    await enqueueTraces(queue, tx, judgeJob, orgId, projectId, ids, options)
  }
  await judgeOrphansLater(tx, queue, orgId, projectId, evidence)
  await noteSkills(tx, orgId, projectId, locked, evidence)
  const isAnyMarked = stored.first.length + stored.moved.length > 0
  if (isAnyMarked) await requestAggregation(queue, tx, orgId, projectId)
  const judged = judgements.map(idOf)
  const verdicts = judgements.map(({ decision }) => decision.verdict)
  return { judged, unreadable, verdicts, copies, changed: stored.isAnyChanged }
}

/**
 * @returns whether a score or a decision has changed; the ids of the traces that had no verdict, and of those
 * others that cells show otherwise now: by a score, or under another verdict
 */
async function storeJudgements(
  tx: Transaction,
  orgId: string,
  projectId: string,
  judgements: readonly TraceJudgement[],
  { decided }: Pick<TraceEvidence, 'decided'>,
) {
  const scores = judgements.flatMap(({ trace: { trace_id }, scores }) =>
    scores.map((score) => ({ ...score, trace_id })),
  )
  const changedScores = await upsertScores(tx, orgId, projectId, scores)
  const changedVerdicts = await upsertVerdicts(tx, orgId, projectId, judgements.map(toVerdictRow))
  const rescored = new Set(changedScores)
  const isFirst = ({ trace }: TraceJudgement) => !decided.has(trace.trace_id)
  const isMoved = ({ trace: { trace_id }, decision }: TraceJudgement) =>
    rescored.has(trace_id) || decided.get(trace_id) !== decision.verdict
  return {
    isAnyChanged: changedScores.length + changedVerdicts.length > 0,
    first: judgements.filter(isFirst).map(idOf),
    moved: judgements.filter((each) => !isFirst(each) && isMoved(each)).map(idOf),
  }
}

/**
 * Has those judged again that are copies of a trace which is being deleted: the deletion may have looked for
 * copies before they were there.
 */
async function judgeOrphansLater(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  projectId: string,
  { oldest }: Pick<TraceEvidence, 'oldest'>,
) {
  const named = new Set(oldest.values()).difference(new Set(oldest.keys()))
  const leaving = await listLeaving(tx, orgId, projectId, [...named])
  const orphans = [...oldest].filter(([, first]) => leaving.has(first)).map(([id]) => id)
  const options = { startAfterSeconds: DELETION_SECONDS }
  await enqueueTraces(queue, tx, judgeJob, orgId, projectId, orphans, options)
}

/** Stores which skills the traces used, and has those scored anew of which they are evidence. */
async function noteSkills(
  tx: Transaction,
  orgId: string,
  projectId: string,
  locked: readonly LockedTrace[],
  { rated }: Pick<TraceEvidence, 'rated'>,
) {
  const using = locked.filter(({ uses_skills }) => uses_skills).map(({ trace_id }) => trace_id)
  if (using.length + rated.size === 0) return
  await insertTraceSkills(tx, orgId, projectId, using)
  const names = await listEvidenced(tx, orgId, projectId, { using, rated: [...rated] })
  await markScoresDue(tx, orgId, names)
}

function idOf({ trace }: TraceJudgement) {
  return trace.trace_id
}

function toVerdictRow(judgement: TraceJudgement): VerdictRow {
  const { trace, decision, policy } = judgement
  return {
    trace_id: trace.trace_id,
    ...decision,
    counterfactual: judgement.counterfactual,
    duplicate_of: copiedFrom(decision),
    policy_agent_name: policy.agent_name,
    policy_version: policy.version,
    target_manifest_id: trace.fit?.target_manifest_id ?? null,
  }
}

/** The older trace that the reasons name; none for a copy that a person corrected. */
function copiedFrom({ reasons }: Decision) {
  return reasons.find(({ code }) => code === COPY)?.subject ?? null
}

interface JudgedTraces {
  readonly judged: string[]
  readonly unreadable: UnreadableTrace[]
  /** Those of `judged`. */
  readonly verdicts: Verdict[]
  readonly copies: string[]
  /** Whether a score or a decision has changed. */
  readonly changed: boolean
}

/** Within which `MAX_COPIES` have usually been judged. */
const COPIES_SECONDS = 60
/** Within which a deletion has usually ended. */
const DELETION_SECONDS = 1
