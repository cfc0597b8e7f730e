import { decideTraces } from '../../jobs/decide-traces.ts'
import type { Checkpoint, Payload } from '../../jobs/job.ts'
import { TRACE_BATCH } from '../../jobs/trace-batches.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listCurrentPolicies } from '../../sql/evals/decision-policies.ts'
import { countDecided, listDecidedIds } from '../../sql/manifests/decided-traces.ts'
import type { DecidedTraces } from '../../sql/manifests/decided-traces.ts'
import { judgeTraces } from '../examination/judge-traces.ts'
import { handler } from '../runtime/handler.ts'
import type { ResumableRun, Run } from '../runtime/handler.ts'

/** Decides page by page in the order of trace ids, so that a run goes on where the last one stopped. */
export const decideTracesHandler = handler(decideTraces, async (payload, run) => {
  const traces = tracesOf(payload, run)
  const all = await countDecided(run.sql, traces)
  // An empty id comes before all others.
  let cursor: Cursor = run.checkpointed ?? {
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

/** Whether the policy has a newer version than the one to decide by. */
async function isSuperseded({ project_id, policy }: DecidePayload, { sql, orgId }: Run) {
  if (!policy) return false
  const policies = await listCurrentPolicies(sql, orgId, project_id)
  const current = policies.find(({ agent_name }) => agent_name === policy.agent_name)
  return current?.version !== policy.version
}

/** Undefined when there are no further traces. */
async function decidePage(
  run: ResumableRun<Cursor>,
  traces: DecidedTraces,
  from: Cursor,
  all: number,
) {
  const { queue, sql } = run
  const ids = await listDecidedIds(sql, traces, from.after, TRACE_BATCH)
  const last = ids.at(-1)
  if (last === undefined) return undefined
  return queue.transaction(sql, async (tx: Transaction) => {
    const { judged, verdicts } = await judgeTraces(run, tx, traces.projectId, ids)
    const verdict_counts = { ...from.verdict_counts }
    for (const verdict of verdicts) verdict_counts[verdict] = (verdict_counts[verdict] ?? 0) + 1
    const seen = from.seen + ids.length
    const next = { after: last, seen, total: from.total + judged.length, verdict_counts }
    await run.checkpoint(tx, { done: seen, total: all, unit: 'traces' }, next)
    return next
  })
}

type DecidePayload = Payload<typeof decideTraces>
type Cursor = Checkpoint<typeof decideTraces>
