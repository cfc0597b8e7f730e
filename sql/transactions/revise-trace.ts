import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Verdict } from '../../jobs/rules/core/verdicts.ts'
import { madeScores } from '../../jobs/rules/evals/judgement.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { requestSettling } from '../../jobs/settle-traces.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import type { Transaction } from '../core/db.ts'
import { deleteMadeScores } from '../evals/eval-scores.ts'
import { listChecks } from '../evals/evaluators.ts'
import { listFirst } from '../evals/judgements.ts'
import { markCellsDirty } from '../evals/cell-marks.ts'
import { deleteVerdicts, listDecided } from '../evals/verdicts.ts'
import { deleteFindings } from '../traces/trace-findings.ts'
import { indexTraces } from '../traces/trace-search.ts'
import { lockStoredTraces, updateTraces } from '../traces/trace-updates.ts'
import type { RevisedTrace, RevisedTraceRow, StoredTraceRow } from '../traces/trace-updates.ts'
import { keyText, listRunning } from '../traces/traces.ts'
import type { TraceKey } from '../traces/traces.ts'
import { activateUsedDrafts } from './activate-draft.ts'

/**
 * Says what a stored trace is to say from now on, or that it stays as it is. Without side effects, and
 * quick: the trace is locked.
 */
export type Change = (stored: StoredTraceRow) => RevisedTraceRow | undefined

/**
 * Changes what a stored trace says; nothing else does, but for tying it to the manifest that it names.
 * Everything that was found in it is found anew; scores and annotations that it was given stay. Its
 * decision stays until it is judged, which this requests, and goes where the trace is running now. One that
 * further spans may change is judged when it settles, which this requests too.
 * Nothing is charged: the trace was.
 * @returns undefined when the trace stays as it is, or is not there
 */
export async function reviseTrace(tx: Transaction, queue: Queue, key: TraceKey, change: Change) {
  const [revised] = await reviseTraces(tx, queue, [{ key, change }])
  if (!revised) return undefined
  const { org_id, project_id, trace_id } = revised
  await activateUsedDrafts(tx, queue, org_id, project_id, [trace_id])
  return revised
}

/**
 * As `reviseTrace`, of traces of one organization, each named once. The drafts that they run under are
 * left to the caller. Call it once in a transaction and before the quota is charged: it locks all traces
 * in one order.
 */
export async function reviseTraces(
  tx: Transaction,
  queue: Queue,
  revisions: readonly Requested[],
): Promise<RevisedTrace[]> {
  if (revisions.length === 0) return []
  const changes = new Map(revisions.map(({ key, change }) => [keyText(key), change]))
  const stored = await lockStoredTraces(
    tx,
    revisions.map(({ key }) => key),
  )
  const changed = stored.flatMap((before) => {
    const after = changes.get(keyText(before))?.(before)
    const { org_id, project_id, trace_id } = before
    return after ? [{ before, after: { ...after, org_id, project_id, trace_id } }] : []
  })
  const revised: RevisedTrace[] = []
  for (const [projectId, each] of Map.groupBy(changed, ({ before }) => before.project_id)) {
    const { org_id: orgId } = (each[0] as ChangedTrace).before
    revised.push(...(await reviseIn({ tx, queue, orgId, projectId, changed: each })))
  }
  return revised
}

/**
 * Finishes stored traces that are running: each becomes the first of these rows with its key that is not
 * running. Others stay as they are, and are not locked. `acceptTraces` completes it.
 * @returns the rows that stored traces became
 */
export async function finishTraces<Row extends TraceRow & TraceKey>(
  tx: Transaction,
  queue: Queue,
  rows: readonly Row[],
): Promise<Map<Row, RevisedTrace>> {
  const ended = new Map<string, Row>()
  for (const row of rows) {
    if (row.status !== 'running' && !ended.has(keyText(row))) ended.set(keyText(row), row)
  }
  const running = await listRunning(tx, [...ended.values()])
  const revised = await reviseTraces(
    tx,
    queue,
    running.map((key) => ({
      key,
      // Another transaction may have finished it until it was locked.
      change: ({ status }) => (status === 'running' ? ended.get(keyText(key)) : undefined),
    })),
  )
  return new Map(revised.map((each) => [ended.get(keyText(each)) as Row, each]))
}

async function reviseIn(project: Omit<Revision, 'decided'>) {
  const { tx, orgId, projectId, changed } = project
  const ids = changed.map(idOf)
  const revision = { ...project, decided: await listDecided(tx, orgId, projectId, ids) }
  const decided = [...revision.decided.keys()]
  const renamed = changed.filter(({ before, after }) => before.agent_name !== after.agent_name)
  await markCellsDirty(tx, orgId, projectId, decided)
  const revised = await updateTraces(
    tx,
    changed.map(({ after }) => after),
  )
  await deleteFindings(tx, orgId, projectId, ids, renamed.map(idOf))
  await deleteJudgements(revision)
  await markCellsDirty(tx, orgId, projectId, decided)
  await requestJudgements(revision)
  return revised
}

/**
 * Deletes the scores that judgement makes: those of another agent's evaluators, or of a fit, are not made
 * again. A trace that is running has no decision either.
 */
async function deleteJudgements({ tx, orgId, projectId, changed, decided }: Revision) {
  const judged = changed.filter((each) => decided.has(idOf(each)))
  if (judged.length === 0) return
  const checks = await listChecks(tx, orgId, projectId)
  const made = judged.flatMap(({ before: { trace_id, agent_name } }) =>
    madeScores(checks, agent_name).map((score) => ({ ...score, trace_id })),
  )
  await deleteMadeScores(tx, orgId, projectId, made)
  await deleteVerdicts(tx, orgId, projectId, judged.filter(isRunning).map(idOf))
}

/**
 * Has the traces judged, and the copies of what they said, which may be the oldest now. Judging makes
 * their scores anew, so that it has the cells recomputed. One that is running or waits for further spans
 * is not judged yet, so that here is what else judgement does.
 */
async function requestJudgements({ tx, queue, orgId, projectId, changed, decided }: Revision) {
  const said = changed.filter(saysOtherwise).map(({ before }) => before)
  const copies = said.length === 0 ? [] : await listFirst(tx, orgId, projectId, said)
  const ended = changed.filter((each) => !isOpen(each)).map(idOf)
  const judged = [...new Set([...ended, ...copies])]
  await enqueueTraces(queue, tx, judgeTraces, orgId, projectId, judged)
  const open = changed.filter(isOpen).map(idOf)
  if (open.length === 0) return
  await indexTraces(tx, orgId, projectId, open)
  if (open.some((id) => decided.has(id))) await requestAggregation(queue, tx, orgId, projectId)
  const isSettlingSoon = changed.some((each) => isOpen(each) && !isRunning(each))
  if (isSettlingSoon) await requestSettling(queue, tx, orgId, projectId)
}

/** Whether copies of what a trace said may have to be judged by another one now. */
function saysOtherwise(each: ChangedTrace) {
  const { before, after } = each
  if (before.status === 'running') return false
  if (isRunning(each) || !isOpen(each)) return true
  return (
    before.content_hash?.toString('hex') !== after.content_hash?.toString('hex') ||
    before.started_at.getTime() !== after.started_at.getTime()
  )
}

/** Running, or made of spans of which further ones may come. */
function isOpen(each: ChangedTrace) {
  return isRunning(each) || each.after.settles_at instanceof Date
}

function isRunning({ after }: ChangedTrace) {
  return after.status === 'running'
}

function idOf({ before }: ChangedTrace) {
  return before.trace_id
}

/** Traces of one project that change. */
interface Revision {
  readonly tx: Transaction
  readonly queue: Queue
  readonly orgId: string
  readonly projectId: string
  readonly changed: readonly ChangedTrace[]
  /** Those that have a verdict: cells of others need nothing, however often a span comes. */
  readonly decided: ReadonlyMap<string, Verdict>
}

interface Requested {
  readonly key: TraceKey
  readonly change: Change
}

interface ChangedTrace {
  readonly before: StoredTraceRow
  readonly after: TraceKey & RevisedTraceRow
}
