import { RE2JS, RE2JSException } from 're2js'

/** A compiled pattern of RE2's syntax: it looks at a text once and never goes back in it. */
export interface Pattern {
  /** Whether the text has a match anywhere; null where the text is too long for the pattern. */
  test(text: string): boolean | null
}

/** What is wrong with a pattern that somebody wrote, or undefined. */
export function faultOfPattern(source: string): string | undefined {
  try {
    const size = RE2JS.compile(source).programSize()
    if (size <= MAX_INSTRUCTIONS) return undefined
    return `comes to ${size} instructions, of which it may have ${MAX_INSTRUCTIONS}`
  } catch (error) {
    if (error instanceof RE2JSException) return `is no pattern of RE2: ${error.message}`
    throw error
  }
}

/** @throws RE2JSException for a pattern that `faultOfPattern` finds fault with */
export function compilePattern(source: string): Pattern {
  const compiled = RE2JS.compile(source)
  const maxLength = Math.floor(MAX_STEPS / compiled.programSize())
  return { test: (text) => (text.length <= maxLength ? compiled.test(text) : null) }
}

/** Repetitions count as often as they repeat: `a{100}` is 100 and a few. */
export const MAX_INSTRUCTIONS = 250
/**
 * At worst each character is held against each instruction, at some 70 ns: this is 40 ms, in which the
 * process does nothing else.
 */
export const MAX_STEPS = 1 << 19
