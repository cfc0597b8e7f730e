import { detectViolations } from '../../jobs/detect-violations.ts'
import { judgeTraces } from '../../jobs/judge-traces.ts'
import { enqueueTraces } from '../../jobs/trace-batches.ts'
import { readHash } from '../../jobs/rules/manifests/manifest-hash.ts'
import { readContract } from '../../jobs/rules/manifests/contract.ts'
import { manifestUnknown } from '../../jobs/rules/manifests/violation.ts'
import type { TracePosition } from '../../jobs/rules/traces/trace-position.ts'
import { insertEdges, insertParentEdges } from '../../sql/traces/agent-edges.ts'
import { listClosedTraces, lockUnrevised } from '../../sql/manifests/closed-traces.ts'
import type { ClosedTraceRow } from '../../sql/manifests/closed-traces.ts'
import { replaceViolations } from '../../sql/manifests/contract-violations.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { emitEvent } from '../../sql/transactions/emit-event.ts'
import { tieStoredTraces } from '../../sql/transactions/link-traces.ts'
import { findActiveHashes, insertDrifts } from '../../sql/manifests/subagent-drifts.ts'
import type { Drift } from '../../sql/manifests/subagent-drifts.ts'
import { upsertExaminations } from '../../sql/manifests/trace-examinations.ts'
import { handler } from '../runtime/handler.ts'
import type { Run } from '../runtime/handler.ts'
import { examinationRow, examineTraces, holdActive } from '../examination/examine-traces.ts'
import type { ExaminedTrace } from '../examination/examine-traces.ts'

export const detectViolationsHandler = handler(
  detectViolations,
  async ({ project_id: projectId, trace_ids }, run) => {
    await run.queue.transaction(run.sql, (tx: Transaction) =>
      tieStoredTraces(tx, run.queue, run.orgId, projectId, trace_ids),
    )
    const filter = { orgId: run.orgId, projectId, traceIds: trace_ids }
    let after: TracePosition | undefined
    for (;;) {
      run.signal.throwIfAborted()
      const page = await listClosedTraces(run.sql, filter, after)
      if (page.length === 0) return
      if (await searchPage(run, projectId, page)) after = page.at(-1)
    }
  },
)

/** Returns false when an agent's active manifest has changed, so that the findings are out of date. */
async function searchPage(run: Run, projectId: string, page: readonly ClosedTraceRow[]) {
  const { orgId, queue } = run
  const opened = await examineTraces(run, page, 'all')
  await insertParentEdges(
    run.sql,
    orgId,
    projectId,
    page.map(({ trace_id }) => trace_id),
  )
  return queue.transaction(run.sql, async (tx: Transaction) => {
    if (!(await holdActive(tx, orgId, projectId, page))) return false
    const unrevised = await lockUnrevised(tx, orgId, projectId, page)
    const examined = opened.filter(({ trace }) => unrevised.has(trace.trace_id))
    const ids = [...unrevised]
    await insertEdges(tx, orgId, projectId, examined.flatMap(edgesOf))
    const rows = examined.map((each) => examinationRow(each, true))
    const changed = await upsertExaminations(tx, orgId, projectId, rows)
    const broken = await replaceViolations(
      tx,
      orgId,
      projectId,
      ids,
      examined.flatMap(violationsOf),
    )
    await noteDrifts(tx, run, projectId, examined)
    const rejudged = new Set([...changed, ...broken])
    await enqueueTraces(queue, tx, judgeTraces, orgId, projectId, [...rejudged])
    return true
  })
}

function edgesOf({ edges, trace: { trace_id, started_at } }: ExaminedTrace) {
  return edges.map((edge) => ({ ...edge, trace_id, seen_at: started_at }))
}

function violationsOf({ violations, trace, manifest }: ExaminedTrace) {
  const { trace_id, agent_name, started_at, named_manifest } = trace
  const unknown = named_manifest !== null && !manifest ? [manifestUnknown(named_manifest)] : []
  return [...unknown, ...violations].map((violation) => ({
    ...violation,
    trace_id,
    agent_name,
    manifest_id: manifest?.id ?? null,
    occurred_at: started_at,
  }))
}

/** Records sub-agents that were given work while another manifest was active than the pinned one. */
async function noteDrifts(
  tx: Transaction,
  { orgId, queue, now }: Run,
  projectId: string,
  examined: readonly ExaminedTrace[],
) {
  const pinned = examined.flatMap(pinsOf)
  if (pinned.length === 0) return
  const names = pinned.map(({ subagent_name }) => subagent_name)
  const active = await findActiveHashes(tx, orgId, projectId, [...new Set(names)])
  const drifts = new Map<string, Drift>()
  for (const { trace_id, ...pin } of pinned) {
    const observed_hash = active.get(pin.subagent_name)
    if (!observed_hash || observed_hash === pin.expected_hash) continue
    const key = JSON.stringify([pin.agent_name, pin.subagent_name])
    const drift = drifts.get(key) ?? { ...pin, observed_hash, trace_sample_ids: [] }
    if (drift.trace_sample_ids.length < MAX_SAMPLES) drift.trace_sample_ids.push(trace_id)
    drifts.set(key, drift)
  }
  for (const drift of await insertDrifts(tx, orgId, projectId, [...drifts.values()])) {
    await emitEvent(tx, queue, orgId, 'subagent.drift', drift, now())
  }
}

function pinsOf({ edges, manifest, trace: { trace_id, agent_name } }: ExaminedTrace) {
  if (!manifest || edges.length === 0) return []
  const { subagents } = readContract(manifest)
  return edges.flatMap(({ parent, child }) => {
    const expected_hash = readHash(subagents.get(child) ?? '')
    if (parent !== agent_name || !expected_hash) return []
    return { agent_name, subagent_name: child, expected_hash, manifest_id: manifest.id, trace_id }
  })
}

const MAX_SAMPLES = 10
