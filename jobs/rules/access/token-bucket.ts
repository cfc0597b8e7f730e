import type { Rate } from '../org/plan.ts'

/** What taking a token came to. */
export interface Taken {
  readonly admitted: boolean
  /** When the bucket is full again, in the caller's milliseconds: all the state there is. */
  readonly fullAtMs: number
  /** Whole tokens left. */
  readonly remaining: number
  /** Until a token is there again; 0 when this one was admitted. */
  readonly waitMs: number
}

/**
 * Takes one token of a bucket that is kept as the time at which it is full again (the generic cell
 * rate algorithm). `admit_key` in the database is the same rule over rows.
 * @param fullAtMs as the last call returned it; 0 for a new bucket
 */
export function takeToken({ perMinute, burst }: Rate, fullAtMs: number, nowMs: number): Taken {
  const costMs = 60_000 / perMinute
  const latestMs = nowMs + burst * costMs
  const nextMs = Math.max(fullAtMs, nowMs) + costMs
  const leftMs = latestMs - nextMs + ROUNDING_MS
  const admitted = leftMs >= 0
  return {
    admitted,
    fullAtMs: admitted ? nextMs : fullAtMs,
    remaining: admitted ? Math.floor(leftMs / costMs) : 0,
    waitMs: admitted ? 0 : nextMs - latestMs,
  }
}

/** Half a microsecond: sums of fractions must neither refuse nor hide the last token of a burst. */
const ROUNDING_MS = 0.0005
