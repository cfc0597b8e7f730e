import { REDACTED } from './redaction.ts'
import type { Redacted } from './redaction.ts'

/** Numbers the values of one row by their first appearance: `[EMAIL_1]`, `[EMAIL_2]`, `[PHONE_1]`. */
export function openPlaceholders() {
  const counts = new Map<Redacted, number>()
  const numbers = new Map<Redacted, Map<string, number>>()
  return {
    counts,
    /** What is written in the place of a value. */
    take(name: Redacted, value: string) {
      counts.set(name, (counts.get(name) ?? 0) + 1)
      const known = numbers.get(name) ?? new Map<string, number>()
      numbers.set(name, known)
      const identity = IDENTITIES[name]?.(value) ?? value
      const number = known.get(identity) ?? known.size + 1
      known.set(identity, number)
      return `[${name.toUpperCase()}_${number}]`
    },
  }
}

/** Whether what stands from `start` up to `end` is a placeholder or within one. */
export function isInPlaceholder(text: string, start: number, end: number) {
  const before = text.slice(Math.max(0, start - MAX_LENGTH), start + 1)
  const open = before.lastIndexOf('[')
  if (open < 0) return false
  PLACEHOLDER.lastIndex = start + 1 - before.length + open
  return PLACEHOLDER.test(text) && end <= PLACEHOLDER.lastIndex
}

const digitsOf = (value: string) => value.replace(/\D/g, '')
/** What the spellings of one value have in common; other values have one. */
const IDENTITIES: Readonly<Partial<Record<Redacted, (value: string) => string>>> = {
  email: (value) => value.toLowerCase(),
  phone: digitsOf,
  card: digitsOf,
  iban: (value) => value.replaceAll(' ', ''),
}
const PLACEHOLDER = new RegExp(`\\[(?:${REDACTED.join('|').toUpperCase()})_\\d{1,9}\\]`, 'y')
const MAX_LENGTH = 24
