import type { CompatTally } from '../manifests/compat-tally.ts'
import { RISKS } from '../manifests/impact.ts'
import type { Risk } from '../manifests/impact.ts'
import type { CheckVerdict, SurfaceImpact } from './check-findings.ts'
import type { MetricCheck } from './metric-check.ts'

export interface VerdictEvidence {
  readonly impacts: readonly SurfaceImpact[]
  /** Of all traces that were walked. */
  readonly tally: CompatTally
  readonly metrics: readonly MetricCheck[]
}

/** The worst of what structure, traffic and scores say, and a text that names each, strongest first. */
export function judgeCheck(evidence: VerdictEvidence): {
  verdict: CheckVerdict
  human_summary: string
} {
  const { impacts, tally, metrics } = evidence
  const structure = hearStructure(impacts)
  const traffic = hearTraffic(tally)
  const scores = hearScores(metrics)
  const voices = [structure, traffic, scores]
    .filter((voice) => voice !== undefined)
    .sort((a, b) => RISKS.indexOf(b.risk) - RISKS.indexOf(a.risk))
  const told = voices.map(({ risk, told }) => `${TITLES[risk]} ${told}`)
  if (!structure) told.push('No structural change.')
  return {
    verdict: structure && !scores && tally.total_episodes === 0 ? 'unverified' : worstOf(voices),
    human_summary: [...told, ...tellPower(metrics)].join(' '),
  }
}

/** The gating metrics whose drop is confirmed. */
export function droppedMetrics(metrics: readonly MetricCheck[]) {
  return metrics.filter(({ gating, verdict }) => gating && verdict === 'regressed')
}

function worstOf([strongest]: readonly Voice[]): CheckVerdict {
  return strongest ? `${strongest.risk}_risk` : 'no_change'
}

function hearStructure(impacts: readonly SurfaceImpact[]): Voice | undefined {
  const sorted = impacts.toSorted(
    (a, b) =>
      RISKS.indexOf(b.severity) - RISKS.indexOf(a.severity) ||
      b.affected_trace_count - a.affected_trace_count,
  )
  const [worst] = sorted
  if (!worst) return undefined
  const told = listed(
    sorted.map(({ explanation }) => explanation),
    '. ',
  )
  return { risk: worst.severity, told: `by structure: ${told}.` }
}

function hearTraffic({ replay, drop, total_episodes: total }: CompatTally): Voice | undefined {
  const lost = replay + drop
  if (lost === 0) return undefined
  const share = lost / total
  const risk = share >= HIGH_SHARE ? 'high' : share >= MEDIUM_SHARE ? 'medium' : 'low'
  const percent = Math.round(share * 1000) / 10
  const told = `by traffic: ${lost} of ${total} traces (${percent} %) would have to be replayed or dropped.`
  return { risk, told }
}

function hearScores(metrics: readonly MetricCheck[]): Voice | undefined {
  const dropped = droppedMetrics(metrics)
  if (dropped.length === 0) return undefined
  const told = dropped.map(
    ({ metric, delta, p_value }) => `${metric} dropped by ${shown(-delta)} (p ${shown(p_value)})`,
  )
  return { risk: 'high', told: `by scores: ${listed(told)}.` }
}

/** Which drops of gating metrics this traffic could have shown, where none is confirmed. */
function tellPower(metrics: readonly MetricCheck[]): string[] {
  const open = metrics.filter(({ gating, verdict }) => gating && UNSETTLED.has(verdict))
  if (open.length === 0) return []
  const shows = open.filter(({ p_value, mde }) => p_value !== null && mde !== null)
  const short = open.filter(({ p_value }) => p_value === null)
  const drops = shows.map(({ metric, mde }) => `${shown(mde)} in ${metric}`)
  const other = droppedMetrics(metrics).length > 0 ? 'other ' : ''
  const parts = [
    `No ${other}drop was confirmed`,
    ...(drops.length > 0 ? [`this traffic could have shown a drop of ${listed(drops)}`] : []),
    ...(short.length > 0 ? [`too few traces have ${listed(short.map((m) => m.metric))}`] : []),
  ]
  return [`${parts.join('; ')}.`]
}

function listed(texts: readonly string[], between = ', ') {
  const more = texts.length > TOLD ? ` and ${texts.length - TOLD} more` : ''
  return `${texts.slice(0, TOLD).join(between)}${more}`
}

/** Two digits tell enough of a figure. */
function shown(value: number | null) {
  return String(Number((value ?? 0).toPrecision(2)))
}

const TITLES: Readonly<Record<Risk, string>> = {
  high: 'High risk',
  medium: 'Medium risk',
  low: 'Low risk',
}
const UNSETTLED: ReadonlySet<MetricCheck['verdict']> = new Set(['pass', 'inconclusive'])
/** Shares of the walked traces that cannot stay as they are. */
const HIGH_SHARE = 0.5
const MEDIUM_SHARE = 0.05
const TOLD = 5

/** What one of the three says. */
interface Voice {
  readonly risk: Risk
  readonly told: string
}
