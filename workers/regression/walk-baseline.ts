import { tallyDecision } from '../../jobs/rules/compat-tally.ts'
import type { CompatDecision } from '../../jobs/rules/compat-decision.ts'
import { emptyTallies } from '../../jobs/rules/regression-report.ts'
import type { CheckTallies, EvalStatus } from '../../jobs/rules/regression-report.ts'
import { countClosedTraces, listClosedTraces } from '../../sql/closed-traces.ts'
import type { ClosedTraceRow } from '../../sql/closed-traces.ts'
import type { Transaction } from '../../sql/db.ts'
import { countDatasetRows, listEvalVerdicts, listScoringEvaluators } from '../../sql/downstream.ts'
import type { AgentKey, StoredManifest } from '../../sql/manifests.ts'
import type { Run } from '../handler.ts'
import { examine } from './examiner.ts'

/** What the baseline's traces come to. Plain JSON, so that it can be a checkpoint. */
export interface WalkedTraces {
  tallies: CheckTallies
  /** Names of evaluators whose scores are of traces that use what has changed. */
  evaluators: string[]
  /** By version: rows whose traces cannot stay as they are. */
  datasets: Record<string, { name: string; rows: number }>
}

/** Decides on every trace of the baseline in the window, page by page, and goes on where it stopped. */
export async function walkBaseline(
  run: Run,
  agent: AgentKey,
  { before, after, window }: Comparison,
): Promise<WalkedTraces> {
  const { sql, signal } = run
  const { orgId, projectId, agentName } = agent
  const filter = { orgId, projectId, agentName, manifestId: before.id, window }
  const total = await countClosedTraces(sql, filter)
  const kept = run.checkpointed as { walked: WalkedTraces; at: Place } | undefined
  const walked = kept?.walked ?? { tallies: emptyTallies(), evaluators: [], datasets: {} }
  let place = kept && { ...kept.at, started_at: new Date(kept.at.started_at) }
  for (;;) {
    signal.throwIfAborted()
    const rows = await listClosedTraces(sql, filter, place)
    const last = rows.at(-1)
    if (!last) return walked
    await addPage(run, agent, { before, after, rows, walked })
    place = { started_at: last.started_at, trace_id: last.trace_id }
    const at = { ...place, started_at: place.started_at.toISOString() }
    const done = walked.tallies.all.total_episodes
    await sql.begin((tx: Transaction) =>
      run.checkpoint(tx, { done, total, unit: 'traces' }, { walked, at }),
    )
  }
}

async function addPage(
  { sql }: Run,
  agent: AgentKey,
  { before, after, rows, walked }: Omit<Comparison, 'window'> & Page,
) {
  const examinations = await examine({
    manifest: before,
    target: after,
    wants: 'compatibility',
    traces: rows,
  })
  const verdicts = await listEvalVerdicts(
    sql,
    agent,
    rows.map(({ trace_id }) => trace_id),
  )
  const [affected, changed]: [string[], string[]] = [[], []]
  rows.forEach(({ trace_id }, i) => {
    const decision = examinations[i]?.compatibility
    if (!decision) return
    const status = statusOf(verdicts.get(trace_id))
    if (tally(walked.tallies, status, trace_id, decision)) affected.push(trace_id)
    if (decision.verdict !== 'keep') changed.push(trace_id)
  })
  if (affected.length > 0) {
    const names = await listScoringEvaluators(sql, agent, affected)
    walked.evaluators = [...new Set([...walked.evaluators, ...names])].sort()
  }
  if (changed.length === 0) return
  for (const { version_id, name, rows: n } of await countDatasetRows(sql, agent, changed)) {
    walked.datasets[version_id] = { name, rows: (walked.datasets[version_id]?.rows ?? 0) + n }
  }
}

/** Whether the trace uses anything that has changed. */
function tally(
  tallies: CheckTallies,
  status: EvalStatus,
  traceId: string,
  decision: CompatDecision,
) {
  const before = tallies.all.affected_trace_count
  tallyDecision(tallies.all, traceId, decision)
  tallyDecision(tallies[status], traceId, decision)
  return tallies.all.affected_trace_count > before
}

function statusOf(evalVerdict: 'pass' | 'review' | 'fail' | undefined): EvalStatus {
  if (evalVerdict === undefined) return 'unscored'
  return evalVerdict === 'pass' ? 'passing' : 'failing'
}

interface Comparison {
  readonly before: StoredManifest
  readonly after: StoredManifest
  readonly window: readonly [Date, Date]
}

interface Page {
  readonly rows: readonly ClosedTraceRow[]
  readonly walked: WalkedTraces
}

interface Place {
  readonly started_at: string
  readonly trace_id: string
}
