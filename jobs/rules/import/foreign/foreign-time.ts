import { utcTime } from '../../core/time.ts'

/**
 * A time as another platform writes it: ISO 8601 text, which means UTC where it names no offset, or the time
 * since 1970 as a number or in digits. Its magnitude tells seconds, milliseconds, microseconds and
 * nanoseconds apart; less than nine digits are no time.
 * @returns RFC 3339 in UTC with the digits it has, nine of a second at most; null for an absent one, which
 *   an empty text and zero are too; undefined for what is no time
 */
export function readTime(value: unknown): string | null | undefined {
  if (value === undefined || value === null || value === '') return null
  if (typeof value === 'number' || typeof value === 'bigint') return readEpoch(String(value))
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  return /^[\d.]+$/.test(text) ? readEpoch(text) : readIso(text)
}

/** As `readTime`, of the nanoseconds since 1970; all nine digits are kept. */
export function nanosTime(value: string | number | bigint): string | null | undefined {
  const text = String(value)
  if (!/^\d{1,20}$/.test(text)) return undefined
  const padded = text.padStart(10, '0')
  return /^0+$/.test(text) ? null : secondsTime(padded.slice(0, -9), padded.slice(-9))
}

/**
 * A text that sorts as the instants do which times in UTC name: fewer digits of a second are the same as
 * zeros.
 * @param time as `readTime` returns it
 */
export function instantOf(time: string): string {
  let end = time.length - 'Z'.length
  if (!time.includes('.')) return time.slice(0, end)
  while (time[end - 1] === '0') end--
  return time.slice(0, time[end - 1] === '.' ? end - 1 : end)
}

/** Milliseconds from one time to a later one; null where either is unknown or they are swapped. */
export function millisecondsBetween(start: string | null, end: string | null): number | null {
  if (start === null || end === null) return null
  const nanoseconds = nanosecondsBetween(start, end)
  return nanoseconds < 0n ? null : Number(nanoseconds) / 1e6
}

/** Below 0 where the times are swapped. */
export function nanosecondsBetween(start: string, end: string): bigint {
  return nanosecondsOf(end) - nanosecondsOf(start)
}

function nanosecondsOf(time: string) {
  const digits = /\.(\d+)/.exec(time)?.[1] ?? ''
  const seconds = Date.parse(`${time.slice(0, 19)}Z`) / 1000
  return BigInt(seconds) * 1_000_000_000n + BigInt(digits.padEnd(9, '0'))
}

function readEpoch(text: string): string | null | undefined {
  if (/^0+(?:\.0*)?$/.test(text)) return null
  const [, digits, rest = ''] = EPOCH.exec(text) ?? []
  const unit = digits && UNITS.find(({ maxDigits }) => digits.length <= maxDigits)
  if (!unit) return undefined
  const point = digits.length - unit.shift
  return secondsTime(digits.slice(0, point), (digits.slice(point) + rest).slice(0, MAX_DIGITS))
}

function secondsTime(seconds: string, fraction: string): string | undefined {
  const date = new Date(Number(seconds) * 1000)
  if (Number.isNaN(date.getTime())) return undefined
  return utcTime(`${date.toISOString().slice(0, 19)}${fraction && `.${fraction}`}Z`)
}

/** Forms that databases write are RFC 3339 once their zone is written as such. */
function readIso(text: string): string | undefined {
  const rfc = text
    .replace(/ ?(?:UTC|GMT)$/i, 'Z')
    .replace(/([+-]\d\d)$/, (_, hours: string) => `${hours}:00`)
    .replace(/(\.\d{9})\d+/, '$1')
  return /^\d{4}-\d\d-\d\d$/.test(text) ? undefined : utcTime(rfc)
}

/** Without zeros before it. */
const EPOCH = /^([1-9]\d{8,19})(?:\.(\d{1,20}))?$/
const MAX_DIGITS = 9
/** How many digits the times from 1973 to 5138 have in seconds, and in each unit below. */
const UNITS = [
  { maxDigits: 11, shift: 0 },
  { maxDigits: 14, shift: 3 },
  { maxDigits: 17, shift: 6 },
  { maxDigits: 20, shift: 9 },
]
