import { compilePattern } from '../core/pattern.ts'
import type { Pattern } from '../core/pattern.ts'
import { joinOverlapping, listSensitive, SENSITIVE_CLASSES } from '../core/sensitive.ts'
import type { Redacted, Redaction } from './redaction.ts'
import { isInPlaceholder } from './placeholders.ts'

/** A value to be taken out of a text, from the offset `start` up to and without `end`. */
export interface RedactedValue {
  readonly class: Redacted
  readonly start: number
  readonly end: number
}

/** How many steps the patterns of a project may still take for a row. */
export interface Steps {
  left: number
}

/** Finds the values of these classes, but what the project keeps and what stands for another value. */
export function openValueFinder(asked: readonly Redacted[], { patterns, keep }: Redaction) {
  const classes = SENSITIVE_CLASSES.filter((name) => asked.includes(name))
  const compiled = patterns.map(compilePattern)
  const kept = new Set(keep)
  const isKept = (value: string) => kept.size > 0 && kept.has(value.toLowerCase())
  return {
    /**
     * The values in the order of the text, no two overlapping.
     * @param steps go down; what is found when they are below 0 is not all there is
     */
    find(text: string, steps: Steps): RedactedValue[] {
      const values: RedactedValue[] = listSensitive(text, classes)
      for (const pattern of compiled) addMatches(values, text, pattern, steps)
      return joinOverlapping(
        values.filter(
          ({ start, end }) => !isKept(text.slice(start, end)) && !isInPlaceholder(text, start, end),
        ),
      )
    },
    /** Whether a whole text is such a value that is left as it is. */
    stays: (text: string) => isKept(text) || isInPlaceholder(text, 0, text.length),
  }
}

function addMatches(values: RedactedValue[], text: string, pattern: Pattern, steps: Steps) {
  let found = findMatch(text, 0, pattern, steps)
  while (found) {
    values.push({ class: 'custom', ...found })
    found = findMatch(text, found.end, pattern, steps)
  }
}

/**
 * The next match of at least one character. Some patterns look at all of a text before they match a
 * character of it, again and again: a search begins with a stretch of the text, and takes more of it where a
 * match may go on behind that.
 */
function findMatch(text: string, from: number, pattern: Pattern, steps: Steps) {
  let at = from
  let length = STRETCH
  for (;;) {
    const end = Math.min(at + length, text.length)
    steps.left -= Math.max(1, end - at) * pattern.size
    if (steps.left < 0) return undefined
    const found = pattern.find(text.slice(0, end), at)
    if (end < text.length && (!found || found.end === end)) length *= 4
    else if (!found || found.end > found.start) return found
    else if (found.end === text.length) return undefined
    else {
      at = found.end + 1
      length = STRETCH
    }
  }
}

/** Characters. Most matches are near and short: each costs the steps of a whole stretch. */
const STRETCH = 64
