import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import type { Activation, Session } from '../../jobs/rules/regression/bisect.ts'
import type { Observation } from '../../jobs/rules/regression/statistics.ts'

/** How scores of one arm are drawn. */
export interface Traffic {
  /** `judge`: beta distributed, deviation about .18; `binary`: passed or not. */
  readonly kind: 'judge' | 'binary'
  readonly mean: number
  readonly n: number
  /** Traces a session; default 1. */
  readonly size?: number
  /** Correlation of the traces of a session; default 0. */
  readonly icc?: number
}

/** Draws scores; equal seeds draw equal ones. */
export interface Simulation {
  uniform(): number
  normal(): number
  score(kind: Traffic['kind'], mean: number): number
  arm(traffic: Traffic): Observation[]
  activation(place: number, traffic: Traffic): Activation
}

export function openSimulation(seed: number): Simulation {
  const generator = xoroshiro128plus(seed)
  const uniform = () => uniformFloat64(generator)
  let drawn = 0

  function score(kind: Traffic['kind'], mean: number) {
    if (kind === 'binary') return uniform() < mean ? 1 : 0
    const [a, b] = [gamma(mean * 5, uniform), gamma((1 - mean) * 5, uniform)]
    return a / (a + b)
  }

  /** With the root of the correlation as its chance, a trace has the score of its session. */
  function arm({ kind, mean, n, size = 1, icc = 0 }: Traffic): Observation[] {
    const observations: Observation[] = []
    while (observations.length < n) {
      const session_id = size > 1 ? `s${drawn}` : null
      const shared = score(kind, mean)
      for (let i = 0; i < size; i++) {
        const value = uniform() < Math.sqrt(icc) ? shared : score(kind, mean)
        observations.push({ trace_id: `t${drawn++}`, session_id, task_id: null, value })
      }
    }
    return observations
  }

  function activation(place: number, traffic: Traffic): Activation {
    return {
      manifest_id: `m${place}`,
      manifest_hash: `h${place}`,
      version_label: `v${place + 1}`,
      activated_at: new Date(place),
      sessions: toSessions(arm(traffic)),
    }
  }

  return { uniform, normal: () => normal(uniform), score, arm, activation }
}

export function toSessions(observations: readonly Observation[]): Session[] {
  const groups = Map.groupBy(observations, ({ session_id, trace_id }) => session_id ?? trace_id)
  return [...groups.values()].map((traces) => ({
    ...(traces[0] as Observation),
    value: traces.reduce((sum, { value }) => sum + value, 0) / traces.length,
    n: traces.length,
  }))
}

/** Box and Muller. */
function normal(uniform: () => number) {
  return Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
}

/** Marsaglia and Tsang (ACM TOMS 26, 2000). */
function gamma(shape: number, uniform: () => number): number {
  if (shape < 1) return gamma(shape + 1, uniform) * (1 - uniform()) ** (1 / shape)
  const d = shape - 1 / 3
  for (;;) {
    const x = normal(uniform)
    const v = (1 + x / Math.sqrt(9 * d)) ** 3
    if (v > 0 && Math.log(1 - uniform()) < x ** 2 / 2 + d - d * v + d * Math.log(v)) return d * v
  }
}
