/**
 * Seconds to wait after a failed attempt: the schedule's base for it, spread by a factor of 0.8 to 1.2,
 * or what the receiver asked for, within one to two bases.
 * @param attempt number of the attempt that failed, from 1
 * @param unit random, 0 to 1
 */
export function retryDelaySeconds(
  schedule: readonly number[],
  attempt: number,
  unit: number,
  retryAfterSeconds?: number,
): number {
  const base = schedule[Math.min(attempt, schedule.length) - 1] ?? 30
  if (retryAfterSeconds !== undefined) {
    return Math.min(Math.max(retryAfterSeconds, base), 2 * base)
  }
  return base * (0.8 + 0.4 * unit)
}
