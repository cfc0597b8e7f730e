import { findPrivateKeys } from './sensitive-keys.ts'
import { SENSITIVE_FORMS } from './sensitive-forms.ts'
import type { SensitiveForm } from './sensitive-forms.ts'

/** Finds in texts what is personal or secret: the one place that knows what that looks like. */

/** Where values overlap, the one that begins first names all of it; of equal ones the earlier class. */
export const SENSITIVE_CLASSES = [
  'private_key',
  'jwt',
  'api_key',
  'bearer',
  'secret',
  'email',
  'iban',
  'card',
  'ssn_us',
  'ip',
  'phone',
] as const
export type SensitiveClass = (typeof SENSITIVE_CLASSES)[number]

/** A value in a text, from the offset `start` up to and without `end`. */
export interface SensitiveValue {
  readonly class: SensitiveClass
  readonly start: number
  readonly end: number
}

/** The values of these classes, in the order of the text. No two overlap. */
export function findSensitive(
  text: string,
  classes: readonly SensitiveClass[] = SENSITIVE_CLASSES,
): SensitiveValue[] {
  const rank = (value: SensitiveValue) => SENSITIVE_CLASSES.indexOf(value.class)
  const values = classes.flatMap((name) => findClass(text, name))
  const apart: SensitiveValue[] = []
  for (const value of values.sort((a, b) => a.start - b.start || rank(a) - rank(b))) {
    const last = apart.at(-1)
    if (!last || last.end <= value.start) apart.push(value)
    else if (last.end < value.end) apart[apart.length - 1] = { ...last, end: value.end }
  }
  return apart
}

function findClass(text: string, name: SensitiveClass): SensitiveValue[] {
  const found =
    name === 'private_key'
      ? findPrivateKeys(text)
      : SENSITIVE_FORMS[name].flatMap((form) => findForm(text, form))
  return found.map((at) => ({ class: name, ...at }))
}

function findForm(text: string, { mayHold, pattern, measure }: SensitiveForm): Stretch[] {
  const found: Stretch[] = []
  if (!mayHold(text)) return found
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const { before = '', value = match[0] } = match.groups ?? {}
    const start = pattern.lastIndex - value.length
    const length = measure ? measure(value) : value.length
    // What was taken for too much of a value, or for one at all, may hold another.
    pattern.lastIndex = length > 0 ? start + length : match.index + 1
    if (length > 0) found.push({ start: start - before.length, end: start + length })
  }
  return found
}

type Stretch = Omit<SensitiveValue, 'class'>
