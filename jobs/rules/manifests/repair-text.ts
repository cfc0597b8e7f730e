import { trainingJson } from '../core/training-json.ts'

/**
 * The canonical text of a patched value. Undefined where it cannot be written faithfully: it is nested
 * too deep, or the text it was parsed from holds a number of more digits than JavaScript keeps, an id
 * that would be another one.
 */
export function rewrite(patched: unknown, source?: ParsedText): string | undefined {
  const digits = source?.text.match(LONG_NUMBERS)
  if (source && digits) {
    const kept = new Set(JSON.stringify(source.value).match(LONG_NUMBERS))
    if (!digits.every((each) => kept.has(each))) return undefined
  }
  return trainingJson(patched)
}

/** Shorter ones are kept exactly. */
const LONG_NUMBERS = /\d{16,}/g

/** A JSON text, and what was parsed from it. */
export interface ParsedText {
  readonly text: string
  readonly value: unknown
}
