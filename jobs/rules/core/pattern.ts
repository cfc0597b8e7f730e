import { RE2JS, RE2JSException } from 're2js'

/** A compiled pattern of RE2's syntax: it looks at a text once and never goes back in it. */
export interface Pattern {
  /** Whether the text has a match anywhere; null where the text is too long for the pattern. */
  test(text: string): boolean | null
  /** Its instructions: a search takes at most so many steps for each character it looks at. */
  readonly size: number
  /** The first match of at least one character from an offset on. */
  find(text: string, from: number): { readonly start: number; readonly end: number } | undefined
}

/** What is wrong with a pattern that somebody wrote, or undefined. */
export function faultOfPattern(source: string): string | undefined {
  try {
    const length = writtenOut(source)
    // To compile it would take as many instructions, and seconds.
    const size = length > MAX_WRITTEN_OUT ? length : RE2JS.compile(source).programSize()
    if (size <= MAX_INSTRUCTIONS) return undefined
    return `comes to ${size} instructions, of which it may have ${MAX_INSTRUCTIONS}`
  } catch (error) {
    if (error instanceof RE2JSException) return `is no pattern of RE2: ${error.message}`
    throw error
  }
}

/** Says of a pattern without fault that it matches an empty text; undefined where it does not. */
export function emptyMatchOf(source: string): string | undefined {
  return RE2JS.compile(source).test('') ? 'matches an empty text' : undefined
}

/** @throws RE2JSException for a pattern that `faultOfPattern` finds fault with */
export function compilePattern(source: string): Pattern {
  const compiled = RE2JS.compile(source)
  const size = compiled.programSize()
  const maxLength = Math.floor(MAX_STEPS / size)
  return {
    size,
    test: (text) => (text.length <= maxLength ? compiled.test(text) : null),
    find(text, from) {
      const matcher = compiled.matcher(text)
      for (let at = from; at <= text.length && matcher.find(at); at = matcher.end() + 1) {
        if (matcher.end() > matcher.start()) return { start: matcher.start(), end: matcher.end() }
      }
      return undefined
    },
  }
}

/** The characters of a pattern when what is repeated is written as often as it may come. */
function writtenOut(source: string) {
  const lengths = [0]
  const add = (length: number) => lengths.push((lengths.pop() ?? 0) + length)
  let last = 0
  for (const [token, least, most] of source.matchAll(TOKENS)) {
    if (token === '(') {
      lengths.push(0)
      last = 0
    } else if (token === ')') {
      last = lengths.pop() ?? 0
      add(last)
    } else if (least !== undefined) {
      const times = Math.max(1, Number(most || least))
      add(last * (times - 1))
      last *= times
    } else {
      add(token.startsWith('\\Q') ? token.length : 1)
      last = 1
    }
  }
  return lengths.reduce((sum, length) => sum + length)
}

/** A literal text, an escape, a class of characters, a counted repetition, or any other character. */
const TOKENS =
  /\\Q[^]*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\[^]|\[\^?\]?(?:\\[^]|\[:[^\]]*:\]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|[^]/g
/** Names of groups and the like are no instructions: far more than a pattern of the greatest size has. */
const MAX_WRITTEN_OUT = 2500
/** Repetitions count as often as they repeat: `a{100}` is 100 and a few. */
export const MAX_INSTRUCTIONS = 250
/**
 * At worst each character is held against each instruction, at some 20 ns: this is 10 ms, in which the
 * process does nothing else.
 */
export const MAX_STEPS = 1 << 19
