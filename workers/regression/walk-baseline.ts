import type { checkRegression } from '../../jobs/check-regression.ts'
import type { Checkpoint } from '../../jobs/job.ts'
import type { EvalVerdict } from '../../jobs/rules/core/verdicts.ts'
import type { SurfaceChange } from '../../jobs/rules/manifests/surface-change.ts'
import {
  hasRisks,
  noWalkedTraces,
  surfaceRisks,
  tallyTrace,
} from '../../jobs/rules/regression/walked-traces.ts'
import type {
  EvalStatus,
  SurfaceRisks,
  WalkedTraces,
} from '../../jobs/rules/regression/walked-traces.ts'
import type { TracePosition } from '../../jobs/rules/traces/trace-position.ts'
import { countClosedTraces, listClosedTraces } from '../../sql/manifests/closed-traces.ts'
import type { ClosedTraceRow } from '../../sql/manifests/closed-traces.ts'
import type { Transaction } from '../../sql/core/db.ts'
import {
  countDatasetRows,
  listEvalVerdicts,
  listScoringEvaluators,
} from '../../sql/manifests/downstream.ts'
import type { StoredManifest } from '../../sql/manifests/manifest-components.ts'
import type { AgentKey } from '../../sql/manifests/manifests.ts'
import type { ResumableRun, Run } from '../runtime/handler.ts'
import { examine } from '../examination/examiner.ts'
import { judgePending } from './judge-pending.ts'

export type CheckRun = ResumableRun<Checkpoint<typeof checkRegression>>

/**
 * Decides on every trace of the baseline in the window, page by page, and continues at the checkpoint.
 * Traces of both manifests that wait to be judged are judged first.
 */
export async function walkBaseline(
  run: CheckRun,
  agent: AgentKey,
  { before, after, window, changes }: Comparison,
): Promise<WalkedTraces> {
  if (!run.checkpointed) await judgePending(run, agent, { before, after, window })
  const { sql, signal } = run
  const { orgId, projectId, agentName } = agent
  const filter = { orgId, projectId, agentName, manifestId: before.id, window }
  const total = await countClosedTraces(sql, filter)
  const known = surfaceRisks(changes)
  const start = startOf(run)
  const { walked } = start
  let position = start.at
  for (;;) {
    signal.throwIfAborted()
    const rows = await listClosedTraces(sql, filter, position)
    const last = rows.at(-1)
    if (!last) return walked
    await addPage(run, agent, { before, after, known, rows, walked })
    const at = { started_at: last.started_at, trace_id: last.trace_id }
    position = at
    const done = walked.tallies.all.total_episodes
    await sql.begin((tx: Transaction) =>
      run.checkpoint(tx, { done, total, unit: 'traces' }, { walked, at }),
    )
  }
}

function startOf({ checkpointed }: CheckRun): Start {
  if (!checkpointed || !hasRisks(checkpointed.walked)) return { walked: noWalkedTraces() }
  return { walked: checkpointed.walked, at: checkpointed.at }
}

async function addPage(
  run: Run,
  agent: AgentKey,
  { before, after, known, rows, walked }: Pick<Comparison, 'before' | 'after'> & Page,
) {
  const { sql } = run
  const examinations = await examine(run, {
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
    if (tallyTrace(walked, trace_id, { status, decision, known })) affected.push(trace_id)
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

function statusOf(evalVerdict: EvalVerdict | undefined): EvalStatus {
  if (evalVerdict === undefined) return 'unscored'
  return evalVerdict === 'pass' ? 'passing' : 'failing'
}

interface Comparison {
  readonly before: StoredManifest
  readonly after: StoredManifest
  readonly window: readonly [Date, Date]
  readonly changes: readonly SurfaceChange[]
}

interface Start {
  readonly walked: WalkedTraces
  /** The last trace that was walked; undefined at the beginning. */
  readonly at?: TracePosition
}

interface Page {
  readonly known: SurfaceRisks
  readonly rows: readonly ClosedTraceRow[]
  readonly walked: WalkedTraces
}
