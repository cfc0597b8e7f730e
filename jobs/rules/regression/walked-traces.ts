import { anyText, count, listOf, recordOf, shape } from '../../shape.ts'
import type { Valid } from '../../shape.ts'
import type { CompatDecision } from '../manifests/compat-decision.ts'
import { compatTally, emptyTally, tallyDecision } from '../manifests/compat-tally.ts'
import { riskOf, RISKS } from '../manifests/impact.ts'
import type { Risk } from '../manifests/impact.ts'
import type { SurfaceChange } from '../manifests/surface-change.ts'

/** Decisions on the baseline's traces, all together and by what their scores say of them. */
const checkTallies = shape({
  all: compatTally,
  passing: compatTally,
  failing: compatTally,
  unscored: compatTally,
})

const riskCounts = shape({ high: count(), medium: count(), low: count() })

/** What the baseline's traces come to. Part of a checkpoint, so it is plain JSON. */
export const walkedTraces = shape(
  {
    tallies: checkTallies,
    /** Names of evaluators whose scores are of traces that use what has changed. */
    evaluators: listOf(anyText()),
    /** By version: rows whose traces cannot stay as they are. */
    datasets: recordOf(shape({ name: anyText(), rows: count() })),
  },
  {
    /**
     * Affected traces by the risk of the worst change that each uses. Processes of an earlier release,
     * which may run at the same time, leave it out.
     */
    risks: riskCounts,
  },
)

export type WalkedTraces = Valid<typeof walkedTraces> & { risks: Valid<typeof riskCounts> }
export type CheckTallies = Valid<typeof checkTallies>
export type EvalStatus = Exclude<keyof CheckTallies, 'all'>
/** By surface: the risk of its change to the traces that use it. */
export type SurfaceRisks = ReadonlyMap<string, Risk>

export function noWalkedTraces(): WalkedTraces {
  const tallies = {
    all: emptyTally(),
    passing: emptyTally(),
    failing: emptyTally(),
    unscored: emptyTally(),
  }
  return { tallies, risks: { high: 0, medium: 0, low: 0 }, evaluators: [], datasets: {} }
}

/** Whether a walk can go on from a checkpoint; from one without risks it begins anew. */
export function hasRisks(walked: Valid<typeof walkedTraces>): walked is WalkedTraces {
  return walked.risks !== undefined
}

export function surfaceRisks(changes: readonly SurfaceChange[]): SurfaceRisks {
  return new Map(changes.map((change) => [change.surface, riskOf(change, 1)]))
}

/** Adds a decision, and returns whether its trace uses anything that has changed. */
export function tallyTrace(
  { tallies, risks }: WalkedTraces,
  traceId: string,
  {
    status,
    decision,
    known,
  }: { status: EvalStatus; decision: CompatDecision; known: SurfaceRisks },
): boolean {
  const before = tallies.all.affected_trace_count
  tallyDecision(tallies.all, traceId, decision)
  tallyDecision(tallies[status], traceId, decision)
  if (tallies.all.affected_trace_count === before) return false
  const used = new Set(
    decision.reasons.map(({ component_type: type, subject }) => known.get(`${type}:${subject}`)),
  )
  risks[RISKS.findLast((risk) => used.has(risk)) ?? 'low']++
  return true
}
