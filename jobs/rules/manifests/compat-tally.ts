import { anyText, count, listOf, recordOf, shape } from '../../shape.ts'
import type { Valid } from '../../shape.ts'
import type { Verdict } from '../core/verdicts.ts'
import type { CompatAction } from './compat-policy.ts'
import type { CompatDecision, CompatReason } from './compat-decision.ts'
import type { RepairRule } from './tool-repair.ts'

const verdictCounts = { keep: count(), repair: count(), replay: count(), drop: count() }

/** What the decisions on many traces come to. Part of checkpoints, so it is plain JSON. */
export const compatTally = shape({
  total_episodes: count(),
  ...verdictCounts,
  needs_review: count(),
  /** Traces that used something that has changed. */
  affected_trace_count: count(),
  /** By `<component_type>:<component_name>`: the traces that used it, by what it alone asks for. */
  surfaces: recordOf(
    shape({ affected: count(), ...verdictCounts, sample_trace_ids: listOf(anyText()) }),
  ),
  /** By code: traces with that reason. */
  reason_counts: recordOf(count()),
  /** By rule as JSON: traces it repairs. */
  repair_rules: recordOf(count()),
})

export type CompatTally = Valid<typeof compatTally>
export type VerdictCounts = Record<Verdict, number>
export type SurfaceTally = CompatTally['surfaces'][string]

export function emptyTally(): CompatTally {
  return {
    total_episodes: 0,
    ...noVerdicts(),
    needs_review: 0,
    affected_trace_count: 0,
    surfaces: {},
    reason_counts: {},
    repair_rules: {},
  }
}

/** Adds one trace. */
export function tallyDecision(tally: CompatTally, traceId: string, decision: CompatDecision) {
  tally.total_episodes++
  tally[decision.verdict]++
  if (decision.needs_review) tally.needs_review++
  if (decision.reasons.some(isOfChange)) tally.affected_trace_count++
  for (const code of new Set(decision.reasons.map(({ code }) => code))) {
    tally.reason_counts[code] = (tally.reason_counts[code] ?? 0) + 1
  }
  for (const [surface, action] of worstBySurface(decision.reasons)) {
    const counts = (tally.surfaces[surface] ??= noUse())
    counts.affected++
    counts[action === 'flag' ? 'keep' : action]++
    if (counts.sample_trace_ids.length < SAMPLES) counts.sample_trace_ids.push(traceId)
  }
  for (const rule of decision.repair_rules) countRule(tally, rule)
}

/** By component name, as reports show it; components of one name are shown together. */
export function impactByName({ surfaces }: CompatTally): Record<string, VerdictCounts> {
  const impact = new Map<string, VerdictCounts>()
  for (const [surface, { keep, repair, replay, drop }] of Object.entries(surfaces)) {
    const name = surface.slice(surface.indexOf(':') + 1)
    const counts = impact.get(name) ?? noVerdicts()
    counts.keep += keep
    counts.repair += repair
    counts.replay += replay
    counts.drop += drop
    impact.set(name, counts)
  }
  return Object.fromEntries(impact)
}

export function rulesWithCounts({
  repair_rules,
}: CompatTally): (RepairRule & { traces: number })[] {
  return Object.entries(repair_rules)
    .map(([rule, traces]) => ({ ...(JSON.parse(rule) as RepairRule), traces }))
    .sort((a, b) => b.traces - a.traces)
}

/** Reasons come worst first. */
function worstBySurface(reasons: readonly CompatReason[]) {
  const worst = new Map<string, CompatAction>()
  for (const reason of reasons) {
    const surface = `${reason.component_type}:${reason.subject}`
    if (isOfChange(reason) && !worst.has(surface)) worst.set(surface, reason.action)
  }
  return worst
}

/** Whether a difference between the manifests is why, and not something about the trace itself. */
function isOfChange({ code }: CompatReason) {
  return !OF_TRACES.has(code)
}

const OF_TRACES: ReadonlySet<CompatReason['code']> = new Set([
  'not_replayable',
  'tool_not_in_manifests',
  'trace_not_examinable',
])

function countRule(tally: CompatTally, rule: RepairRule) {
  const key = JSON.stringify(rule)
  const known = tally.repair_rules[key]
  if (known === undefined && Object.keys(tally.repair_rules).length >= MAX_RULES) return
  tally.repair_rules[key] = (known ?? 0) + 1
}

function noUse(): SurfaceTally {
  return { affected: 0, ...noVerdicts(), sample_trace_ids: [] }
}

export function noVerdicts(): VerdictCounts {
  return { keep: 0, repair: 0, replay: 0, drop: 0 }
}

const SAMPLES = 10
/** Distinct rules counted; manifests of ordinary size have a few dozen. */
const MAX_RULES = 500
