/**
 * The seconds that a Retry-After header says, in numbers or by a date; null for what is neither. They are
 * below 0 for a date that has passed.
 */
export function readRetryAfter(header: string | null, now: Date): number | null {
  if (header === null) return null
  if (/^\d{1,9}$/.test(header)) return Number(header)
  const at = HTTP_DATE.test(header) ? Date.parse(header) : NaN
  return Number.isNaN(at) ? null : Math.ceil((at - now.getTime()) / 1000)
}

/** As RFC 9110 section 5.6.7 has servers write it. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
