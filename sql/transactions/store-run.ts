import { randomUUIDv7 } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Queue } from '../../jobs/queue.ts'
import { markReplay } from '../../jobs/rules/replay/provenance.ts'
import type { ReplayOrigin } from '../../jobs/rules/replay/provenance.ts'
import type { SubmittedTrace } from '../../jobs/rules/replay/submission.ts'
import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import { toTraceRowInSteps } from '../../jobs/rules/traces/trace-row.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { unknownManifest } from '../../jobs/rules/traces/trace-warning.ts'
import type { TraceWarning } from '../../jobs/rules/traces/trace-warning.ts'
import type { Transaction } from '../core/db.ts'
import { lockStoredTraces } from '../traces/trace-updates.ts'
import type { TraceKey } from '../traces/traces.ts'
import { invalid, SAME_TRACE } from './mark-replay.ts'
import type { MarkFault } from './mark-replay.ts'
import { finishTraces } from './revise-trace.ts'
import { completeTraces, insertTied } from './store-traces.ts'

/** A run that is stored as a replay. */
export interface StoredRun {
  readonly trace_id: string
  /** It was stored now, not only finished, and counts. */
  readonly isNew: boolean
  readonly warnings: readonly TraceWarning[]
}

/** The project has a trace of the id of the run, which has ended. */
export interface TraceExists {
  readonly kind: 'trace_exists'
  readonly trace_id: string
}

/**
 * Stores a run as the replay of a trace of its project, or finishes it where it is stored as running, as
 * POST /traces does, and has it judged. The caller counts it.
 * @param original names the trace, which may be gone
 */
export async function storeRun(
  tx: Transaction,
  queue: Queue,
  original: TraceKey,
  { run, origin, form }: { run: SubmittedTrace; origin: ReplayOrigin; form: ContentForm },
): Promise<StoredRun | MarkFault | TraceExists> {
  const { org_id, project_id } = original
  const { agent_name } = origin
  if (run.trace.agent_name !== '' && run.trace.agent_name !== agent_name) {
    return invalid(`The replay must be a run of the agent ${agent_name}`)
  }
  const trace_id = run.trace.trace_id || randomUUIDv7()
  if (trace_id === original.trace_id) return invalid(SAME_TRACE)
  const named = { ...run.trace, trace_id, agent_name }
  const made = await toTraceRowInSteps(named, { form, pause: () => setImmediate() })
  const row = { ...markReplay(made, origin), org_id, project_id }
  const [inserted] = await insertTied(tx, [row])
  const written = inserted ?? (await finishRun(tx, queue, row, original))
  if (!written) return { kind: 'trace_exists', trace_id }
  const scores = run.scores.map((score) => ({ ...score, trace_id }))
  // It is judged also where the caller judges it at once: that misses a policy, and a copy, committed meanwhile.
  const traceIds = inserted ? [trace_id] : []
  await completeTraces(tx, queue, org_id, [{ projectId: project_id, traceIds, scores }])
  const isTied = row.manifest_id === null || row.manifest_id === written.manifest_id
  const untied = isTied ? [] : [unknownManifest(row.manifest_id ?? '')]
  return { trace_id, isNew: inserted !== undefined, warnings: [...untied, ...run.warnings] }
}

/** Undefined where it is not running. Locks both, in the order in which all lock traces. */
async function finishRun(
  tx: Transaction,
  queue: Queue,
  row: TraceRow & TraceKey,
  original: TraceKey,
) {
  await lockStoredTraces(tx, [row, original])
  const finished = await finishTraces(tx, queue, [row])
  return finished.get(row)
}
