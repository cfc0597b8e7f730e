import { requestAggregation } from '../../jobs/aggregate-scores.ts'
import { decideTraces } from '../../jobs/decide-traces.ts'
import type { Payload } from '../../jobs/job.ts'
import { JUDGE_BATCH, requestJudgement } from '../../jobs/judge-traces.ts'
import type { Transaction } from '../../sql/db.ts'
import { listCurrentPolicies } from '../../sql/decision-policies.ts'
import { countDecided, listDecidedIds } from '../../sql/decided-traces.ts'
import type { DecidedTraces } from '../../sql/decided-traces.ts'
import { judgeTraces } from '../../sql/judgements.ts'
import { listVerdicts } from '../../sql/verdicts.ts'
import { handler } from '../handler.ts'
import type { Run } from '../handler.ts'

/** Page by page in the order of trace ids, so that a run goes on where the last one stopped. */
export const decideTracesHandler = handler(decideTraces, async (payload, run) => {
  const traces = tracesOf(payload, run)
  const all = await countDecided(run.sql, traces)
  let cursor = (run.checkpointed as Cursor | undefined) ?? {
    after: '',
    seen: 0,
    total: 0,
    verdict_counts: {},
  }
  for (;;) {
    run.signal.throwIfAborted()
    const { total, verdict_counts } = cursor
    if (await isSuperseded(payload, run)) return { total, verdict_counts, superseded: true }
    const next = await decidePage(run, traces, cursor, all)
    if (!next) return { total, verdict_counts }
    cursor = next
  }
})

function tracesOf({ project_id, manifest_id, policy }: DecidePayload, run: Run): DecidedTraces {
  const owner = { orgId: run.orgId, projectId: project_id }
  return manifest_id
    ? { ...owner, manifestId: manifest_id }
    : { ...owner, policyOf: policy?.agent_name ?? '' }
}

/** Whether the policy that the traces are to be decided by has got another version. */
async function isSuperseded({ project_id, policy }: DecidePayload, { sql, orgId }: Run) {
  if (!policy) return false
  const policies = await listCurrentPolicies(sql, orgId, project_id)
  const current = policies.find(({ agent_name }) => agent_name === policy.agent_name)
  return current?.version !== policy.version
}

/** Undefined when there are no further traces. */
async function decidePage(run: Run, traces: DecidedTraces, from: Cursor, all: number) {
  const { queue, sql } = run
  const { orgId, projectId } = traces
  const ids = await listDecidedIds(sql, traces, from.after, JUDGE_BATCH)
  const last = ids.at(-1)
  if (last === undefined) return undefined
  return queue.transaction(sql, async (tx: Transaction) => {
    const { judged, copies, changed } = await judgeTraces(tx, orgId, projectId, ids)
    const verdicts = await listVerdicts(tx, orgId, projectId, judged)
    const verdict_counts = { ...from.verdict_counts }
    for (const { verdict } of verdicts) verdict_counts[verdict] = (verdict_counts[verdict] ?? 0) + 1
    const seen = from.seen + ids.length
    const next = { after: last, seen, total: from.total + judged.length, verdict_counts }
    await run.checkpoint(tx, { done: seen, total: all, unit: 'traces' }, next)
    await requestJudgement(queue, tx, orgId, projectId, copies)
    if (changed) await requestAggregation(queue, tx, orgId, projectId)
    return next
  })
}

type DecidePayload = Payload<typeof decideTraces>

interface Cursor {
  /** The last trace id that was decided on; '' before the first. */
  after: string
  /** Traces that were come to, and those of them that were decided on: not those that still run. */
  seen: number
  total: number
  verdict_counts: Record<string, number>
}
