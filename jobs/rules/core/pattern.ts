import { RE2JS, RE2JSException } from 're2js'

/** A compiled pattern of RE2's syntax: it looks at a text once and never goes back in it. */
export interface Pattern {
  /** Whether the text has a match anywhere; null where the text is too long for the pattern. */
  test(text: string): boolean | null
  /** Its instructions: a search takes at most so many steps for each character it looks at. */
  readonly size: number
  /** The first match from an offset on, which may be empty. */
  find(text: string, from: number): { readonly start: number; readonly end: number } | undefined
}

/**
 * What is wrong with a pattern that somebody wrote, or undefined.
 * @param mayBeEmpty whether it may match a text of no characters; default true
 */
export function faultOfPattern(source: string, { mayBeEmpty = true } = {}): string | undefined {
  try {
    const length = writtenOut(source)
    // To compile it would take as many instructions, and seconds.
    if (length > MAX_WRITTEN_OUT) return tooLarge(length)
    if (foldedWidth(source) > MAX_FOLDED) {
      return `has ranges of more than ${MAX_FOLDED} characters in either case`
    }
    const compiled = RE2JS.compile(source)
    const size = compiled.programSize()
    if (size > MAX_INSTRUCTIONS) return tooLarge(size)
    return mayBeEmpty || !matchesEmpty(compiled) ? undefined : 'matches an empty text'
  } catch (error) {
    if (error instanceof RE2JSException) return `is no pattern of RE2: ${error.message}`
    throw error
  }
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
      return matcher.find(from) ? { start: matcher.start(), end: matcher.end() } : undefined
    },
  }
}

function tooLarge(size: number) {
  return `comes to ${size} instructions, of which it may have ${MAX_INSTRUCTIONS}`
}

/** Whether nothing at all is a match somewhere in a text of words, lines and what is between them. */
function matchesEmpty(compiled: RE2JS) {
  const matcher = compiled.matcher(ALL_PLACES)
  for (let at = 0; at <= ALL_PLACES.length && matcher.find(at); at = matcher.end()) {
    if (matcher.end() === matcher.start()) return true
  }
  return compiled.test('')
}

/** How many characters the ranges of a pattern have that looks for them in either case. */
function foldedWidth(source: string) {
  if (!/\(\?[a-zA-Z]*i/.test(source)) return 0
  let width = 0
  for (const [, first = '', last = ''] of source.matchAll(RANGES)) {
    width += Math.max(0, codeOf(last) - codeOf(first))
  }
  return width
}

function codeOf(character: string) {
  const hex = /^\\x\{?([0-9a-fA-F]+)/.exec(character)?.[1]
  return hex === undefined ? (character.codePointAt(0) ?? 0) : parseInt(hex, 16)
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
/** The ends of what may be a range of a class of characters. */
const RANGES =
  /(\\x\{[0-9a-fA-F]+\}|\\x[0-9a-fA-F]{2}|[^])-(\\x\{[0-9a-fA-F]+\}|\\x[0-9a-fA-F]{2}|[^])/gu
/** The compiler looks for the other cases of each: some microseconds. */
const MAX_FOLDED = 4096
/** Beginnings and ends of the text, of lines and of words. */
const ALL_PLACES = 'a a\n\na \u00e9'
/** Names of groups and the like are no instructions: far more than a pattern of the greatest size has. */
const MAX_WRITTEN_OUT = 2500
/** Repetitions count as often as they repeat: `a{100}` is 100 and a few. */
export const MAX_INSTRUCTIONS = 250
/**
 * At worst each character is held against each instruction, at some 20 ns: this is 10 ms, in which the
 * process does nothing else.
 */
export const MAX_STEPS = 1 << 19
