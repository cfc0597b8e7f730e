import type { Metric } from './plan.ts'

/** A month's quota that does not hold what was asked for. */
export interface QuotaRefusal {
  readonly metric: Metric
  readonly limit: number
  readonly left: number
  /** How much was asked for; absent where that is not known because nothing is left. */
  readonly asked?: number
}

/** A refusal as a sentence for people. */
export function describeRefusal({ metric, limit, left, asked }: QuotaRefusal) {
  if (asked === undefined) return `${metric}: the quota of ${shown(limit)} a month is used up`
  const [one, many] = UNITS[metric]
  const wanted = `${shown(asked)} ${asked === 1 ? one : many}`
  const rest = `${shown(left)} ${left === 1 ? 'is' : 'are'} left`
  return `${metric}: ${wanted} would pass the quota of ${shown(limit)}; ${rest}`
}

function shown(n: number) {
  return n.toLocaleString('en')
}

const UNITS: Readonly<Record<Metric, readonly [one: string, many: string]>> = {
  traces_ingested: ['trace', 'traces'],
  sft_rows: ['row', 'rows'],
  regression_checks: ['check', 'checks'],
}
