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
  return joinOverlapping(listSensitive(text, classes))
}

/** The values of these classes, class by class; those of several classes may overlap. */
export function listSensitive(text: string, classes: readonly SensitiveClass[]): SensitiveValue[] {
  const read = plainly(text)
  const values: SensitiveValue[] = []
  const add: Add = (name, start, end) => values.push({ class: name, start, end })
  let mayHold: SensitiveForm['mayHold'] | undefined
  let may = false
  for (const name of classes) {
    if (name === 'private_key') {
      for (const { start, end } of findPrivateKeys(read)) add(name, start, end)
      continue
    }
    for (const form of SENSITIVE_FORMS[name]) {
      // Forms that follow each other often have the same test.
      if (form.mayHold !== mayHold) may = (mayHold = form.mayHold)(read)
      if (may) findForm(read, name, form, add)
    }
  }
  return values
}

/** In the order of the text, those that overlap as one. What is of no class comes before the classes. */
export function joinOverlapping<Value extends Located>(values: readonly Value[]): Value[] {
  if (values.length < 2) return [...values]
  const rank = (value: Value) => (SENSITIVE_CLASSES as readonly string[]).indexOf(value.class)
  const apart: Value[] = []
  for (const value of values.toSorted((a, b) => a.start - b.start || rank(a) - rank(b))) {
    const last = apart.at(-1)
    if (!last || last.end <= value.start) apart.push(value)
    else if (last.end < value.end) apart[apart.length - 1] = { ...last, end: value.end }
  }
  return apart
}

/**
 * The text as it is read, character for character. Blanks for the escapes of line feeds and tabs, which texts
 * of JSON and code have right before a value: their letters would be taken for its beginning. One form for
 * what looks alike: blanks, hyphens, and the wide forms of ASCII.
 */
function plainly(text: string) {
  const read = text.includes('\\') ? text.replace(/\\[nrt]/g, '  ') : text
  if (!LOOKALIKE.test(read)) return read
  return read
    .replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, ' ')
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
}

function findForm(
  text: string,
  name: SensitiveClass,
  { pattern, measure }: SensitiveForm,
  add: Add,
) {
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    const { before = '', value = match[0] } = match.groups ?? {}
    const start = pattern.lastIndex - value.length
    const length = measure ? measure(value) : value.length
    // What was taken for too much of a value, or for one at all, may hold another.
    pattern.lastIndex = length > 0 ? start + length : match.index + 1
    if (length > 0) add(name, start - before.length, start + length)
  }
}

const LOOKALIKE = /[\u00a0\u2000-\u200a\u2010-\u2015\u202f\u205f\u2212\u3000\uff01-\uff5e]/

type Located = Omit<SensitiveValue, 'class'> & { readonly class: string }
type Add = (name: SensitiveClass, start: number, end: number) => void
