export const DAY_MS = 86_400_000

/** By how much the clock of who tells a time may be ahead of ours. */
export const CLOCK_AHEAD_MS = 5 * 60_000

/**
 * The moment of an RFC 3339 time of the years 1 to 9999; undefined for any other text, also for a day that
 * its month does not have. A time without an offset is UTC, wherever this process runs.
 */
export function readTime(text: string): Date | undefined {
  if (!RFC3339.test(text) || !hasDay(text)) return undefined
  const time = new Date(HAS_OFFSET.test(text) ? text : `${text.replace(' ', 'T')}Z`)
  const year = time.getUTCFullYear()
  return year >= 1 && year <= 9999 ? time : undefined
}

/** As `readTime`. A day stands for its beginning in UTC. */
export function readTimeOrDay(text: string) {
  return readTime(DAY.test(text) ? `${text}T00:00Z` : text)
}

/** An RFC 3339 time in UTC with the digits it was given; undefined for a text that is none. */
export function utcTime(text: string): string | undefined {
  const digits = /\.\d+/.exec(text)?.[0] ?? ''
  const time = readTime(text)
  return time && `${time.toISOString().slice(0, 19)}${digits}Z`
}

/** JavaScript takes the 31st of February for a day of March. */
function hasDay(text: string) {
  const day = text.slice(0, 10)
  const time = new Date(day)
  return !Number.isNaN(time.getTime()) && time.toISOString().slice(0, 10) === day
}

const DAY = /^\d{4}-\d\d-\d\d$/
const HAS_OFFSET = /(Z|[+-]\d\d:?\d\d)$/i
const RFC3339 = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?$/i
