/**
 * Seconds after which it pays to ask again for something that is not done: whole, 1 to `MAX_SECONDS`.
 * When it takes about as long as usual, the time it still needs; past that, longer the longer it takes.
 * @param usualSeconds how long such things took lately; undefined when none has ended yet
 */
export function retryAfter(ageSeconds: number, usualSeconds: number | undefined): number {
  const left = (usualSeconds ?? 0) - ageSeconds
  const seconds = left > 0 ? left : ageSeconds * PATIENCE
  return Math.min(Math.max(Math.ceil(seconds), 1), MAX_SECONDS)
}

/** Share of the time already taken: a client asks ten times while that time doubles. */
const PATIENCE = 0.1
const MAX_SECONDS = 60
