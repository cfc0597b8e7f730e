import type { Progress } from '../../sql/jobs/jobs.ts'

/**
 * How far a build is, counted in its traces, of which each phase has a fixed share.
 * @param part how much of the phase is done, 0 to 1
 */
export function buildProgress(phase: Phase, part: number, traceCount: number): Progress {
  const [from, to] = SHARES[phase]
  const done = Math.floor(traceCount * (from + (to - from) * Math.min(part, 1)))
  return { done, total: traceCount, unit: 'traces', note: phase }
}

const SHARES = {
  'making rows': [0, 0.65],
  'comparing rows': [0.65, 0.7],
  'storing rows': [0.7, 0.9],
  converting: [0.9, 1],
} as const
type Phase = keyof typeof SHARES
