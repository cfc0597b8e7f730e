import { REDACTED } from './redaction.ts'
import type { Redacted } from './redaction.ts'

/**
 * Numbers the values of one row by their first appearance: `[EMAIL_1]`, `[EMAIL_2]`, `[PHONE_1]`.
 * @param said what the row says: numbers of placeholders that stand there are left out
 */
export function openPlaceholders(said: Iterable<string>) {
  const taken = greatestNumbers(said)
  const counts = new Map<Redacted, number>()
  const numbers = new Map<Redacted, Map<string, number>>()
  const members = new Map<string, string>()

  /** Members of one object must not become the same: a name in another spelling is another value. */
  function identify(name: Redacted, value: string, isMember: boolean) {
    const identity = IDENTITIES[name]?.(value) ?? value
    if (!isMember) return identity
    const spelling = members.getOrInsert(`${name} ${identity}`, value)
    return spelling === value ? identity : `${identity} ${value}`
  }
  return {
    counts,
    /**
     * What is written in the place of a value.
     * @param isMember it stands in the name of a member
     */
    take(name: Redacted, value: string, isMember = false) {
      counts.set(name, (counts.get(name) ?? 0) + 1)
      const known = numbers.getOrInsertComputed(name, () => new Map<string, number>())
      const identity = identify(name, value, isMember)
      const next = (taken.get(name.toUpperCase()) ?? 0) + known.size + 1
      return `[${name.toUpperCase()}_${known.getOrInsert(identity, next)}]`
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

/** The greatest number of the placeholders of each class. */
function greatestNumbers(texts: Iterable<string>) {
  const greatest = new Map<string, number>()
  for (const text of texts) {
    for (const [, name = '', number] of text.matchAll(NUMBERED)) {
      greatest.set(name, Math.max(greatest.get(name) ?? 0, Number(number)))
    }
  }
  return greatest
}

const digitsOf = (value: string) => value.replace(/\D/g, '')
/** What the spellings of one value have in common; other values have one. */
const IDENTITIES: Readonly<Partial<Record<Redacted, (value: string) => string>>> = {
  email: (value) => value.toLowerCase(),
  phone: digitsOf,
  card: digitsOf,
  iban: (value) => value.replaceAll(' ', ''),
}
const CLASSES = REDACTED.join('|').toUpperCase()
const PLACEHOLDER = new RegExp(`\\[(?:${CLASSES})_\\d{1,9}\\]`, 'y')
/** Greater numbers are none that rows come to. */
const NUMBERED = new RegExp(`\\[(${CLASSES})_(\\d{1,6})\\]`, 'g')
const MAX_LENGTH = 24
