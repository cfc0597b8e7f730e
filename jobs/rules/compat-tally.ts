import type { CompatAction, CompatVerdict } from './compat-policy.ts'
import type { CompatDecision, CompatReason } from './compat-decision.ts'
import type { RepairRule } from './tool-repair.ts'

/** What the decisions on many traces come to. Plain JSON, so that it can be a checkpoint. */
export interface CompatTally {
  total_episodes: number
  keep: number
  repair: number
  replay: number
  drop: number
  needs_review: number
  /** Traces that used something that has changed. */
  affected_trace_count: number
  /** By `<component_type>:<component_name>`: the traces that used it. */
  surfaces: Record<string, SurfaceTally>
  /** By code: traces with that reason. */
  reason_counts: Record<string, number>
  /** By rule as JSON: traces it repairs. */
  repair_rules: Record<string, number>
}

export type VerdictCounts = Record<CompatVerdict, number>

/** Counted by what this surface alone asks for. */
export interface SurfaceTally extends VerdictCounts {
  affected: number
  sample_trace_ids: string[]
}

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

/** By component name, as reports tell it; components of one name are told together. */
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
  return code !== 'tool_not_in_manifests' && code !== 'not_replayable'
}

function countRule(tally: CompatTally, rule: RepairRule) {
  const key = JSON.stringify(rule)
  const known = tally.repair_rules[key]
  if (known === undefined && Object.keys(tally.repair_rules).length >= MAX_RULES) return
  tally.repair_rules[key] = (known ?? 0) + 1
}

function noUse(): SurfaceTally {
  return { affected: 0, ...noVerdicts(), sample_trace_ids: [] }
}

function noVerdicts(): VerdictCounts {
  return { keep: 0, repair: 0, replay: 0, drop: 0 }
}

const SAMPLES = 10
/** Distinct rules counted; manifests of ordinary size have a few dozen. */
const MAX_RULES = 500
