import { findSensitive } from '../../core/sensitive.ts'
import type { SensitiveValue } from '../../core/sensitive.ts'

/** A text of a skill in the forms that rules look at. All have the same lines. */
export interface ScannedText {
  /** Of the file, or the member of the skill such as `description`. */
  readonly path: string
  /** As it is stored: what rules of characters look at. */
  readonly raw: Form
  /**
   * What rules of words look at: compatibility characters are the plain ones that they stand for, and a
   * command that goes on in the next line has blanks for the line break.
   */
  readonly words: Form
  /** The words in lower case, for pre-tests. Offsets in it are no offsets of the words. */
  readonly lower: string
  /** Whether a line, from 1, is an example that readers are warned of or shown the outcome of. */
  readonly isExample: (line: number) => boolean
}

/** One form of a text, and where its lines and its sensitive values are. */
export interface Form {
  readonly text: string
  /** From 1. */
  readonly lineAt: (offset: number) => number
  /** The text around an offset without what is sensitive or invisible in it, at most 80 characters. */
  readonly excerptAt: (offset: number) => string
}

export function prepareText(path: string, text: string): ScannedText {
  const plain = ASCII.test(text) ? text : text.normalize('NFKC')
  const lineAt = locateLines(plain)
  const words = { ...formOf(plain.replace(GOES_ON, (end) => ' '.repeat(end.length))), lineAt }
  let examples: ReadonlySet<number> | undefined
  return {
    path,
    raw: formOf(text),
    words,
    lower: words.text.toLowerCase(),
    isExample: (line) => isMarkdown(path) && (examples ??= new Set(findExamples(plain))).has(line),
  }
}

/** Path of the body in findings, whose lines are those of the body. */
export const BODY_PATH = 'SKILL.md'

const isMarkdown = (path: string) => /\.(?:md|markdown)$/i.test(path)
const ASCII = /^[\0-\x7f]*$/
/** A backslash; or a pipe or `&&`, unless the line is a row of a table. */
const GOES_ON = /\\\r?\n|(?<=^[^|\n][^\n]{0,300}(?:\||&&)[ \t]{0,8})\r?\n/gm

function formOf(text: string): Form {
  const lineAt = locateLines(text)
  let sensitive: readonly SensitiveValue[] | undefined
  return {
    text,
    lineAt,
    excerptAt: (offset) => excerpt(text, offset, (sensitive ??= findSensitive(text))),
  }
}

function locateLines(text: string) {
  let starts: number[] | undefined
  return (offset: number) => {
    starts ??= [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
    let low = 0
    let high = starts.length
    while (high - low > 1) {
      const middle = (low + high) >>> 1
      if ((starts[middle] as number) <= offset) low = middle
      else high = middle
    }
    return low + 1
  }
}

/** Of one line; a value that begins before the excerpt or ends behind it is replaced as well. */
function excerpt(text: string, offset: number, sensitive: readonly SensitiveValue[]) {
  const from = Math.max(text.lastIndexOf('\n', offset - 1) + 1, offset - LEAD)
  const lineEnd = text.indexOf('\n', offset)
  const to = Math.min(lineEnd < 0 ? text.length : lineEnd, from + LOOKED_AT)
  let shown = ''
  let at = from
  for (const value of sensitive) {
    if (value.end <= from || value.start >= to) continue
    shown += `${text.slice(at, Math.max(at, value.start))}[${value.class.toUpperCase()}]`
    at = value.end
  }
  shown += text.slice(at, Math.max(at, to))
  const visible = shown.trim().replace(INVISIBLE, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`)
  return visible.slice(0, MAX_EXCERPT).toWellFormed()
}

/** What a terminal or a page would not show, or show elsewhere; lone surrogates too. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
const LEAD = 20
const LOOKED_AT = 100
const MAX_EXCERPT = 80

/**
 * The lines of fenced blocks that are text, diff, output or of no named language, below a heading that
 * says that they are examples, or what not to do.
 */
function* findExamples(markdown: string): Generator<number> {
  let isUnder = false
  let fence = ''
  let isShown = false
  for (const [i, line] of markdown.split('\n').entries()) {
    const [, mark = '', info = ''] = /^ {0,3}(`{3,}|~{3,})([^\n]*)/.exec(line) ?? []
    if (fence !== '') {
      if (mark.startsWith(fence) && info.trim() === '') fence = ''
      else if (isShown) yield i + 1
    } else if (mark !== '' && !(mark.startsWith('`') && info.includes('`'))) {
      fence = mark
      isShown = isUnder && SHOWN.test(info.trim())
    } else if (/^ {0,3}#{1,6}[ \t]/.test(line)) isUnder = HEADING.test(line)
  }
}

const SHOWN = /^(?:text|diff|output)?$/i
const HEADING = /example|sample|do not|avoid|warning/i
