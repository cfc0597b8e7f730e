/** Where a text stops being JSON. Line and column count from 1, columns in UTF-16 units. */
export interface JsonFault {
  readonly line: number
  readonly column: number
  /** The character there; undefined at the end of the text. */
  readonly met: string | undefined
}

/** Finds the first character that no JSON text could have there; undefined where the text is JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  const at = findFault(text)
  if (at === undefined) return undefined
  const before = text.slice(0, at)
  const met = text.codePointAt(at)
  return {
    line: before.split('\n').length,
    column: at - before.lastIndexOf('\n'),
    met: met === undefined ? undefined : String.fromCodePoint(met),
  }
}

/** What is wrong at a fault, as the middle of a sentence. */
export function nameJsonFault({ met }: JsonFault) {
  return met === undefined ? 'it ends' : `unexpected ${JSON.stringify(met)}`
}

/** The offset of the fault. It keeps its own stack, because a body may be nested millions deep. */
function findFault(text: string): number | undefined {
  const open: string[] = []
  let state: State = 'value'
  for (let at = skipSpace(text, 0); ; at = skipSpace(text, at)) {
    if (state === 'after value' && open.length === 0) return at < text.length ? at : undefined
    const first = text[at] ?? ''
    const next = follow(state, first, open)
    if (next === undefined) return at
    state = next
    const token = readToken(text, at)
    if (token.isFaulty) return token.end
    at = token.end
  }
}

/** What state the token that begins so leads to; undefined where it may not stand. */
function follow(state: State, first: string, open: string[]): State | undefined {
  const container = open.at(-1)
  switch (first) {
    case '{':
    case '[':
      if (!state.startsWith('value')) return undefined
      open.push(first)
      return first === '{' ? 'name or end' : 'value or end'
    case '}':
    case ']': {
      const ends =
        state === 'after value' || state === (first === '}' ? 'name or end' : 'value or end')
      if (!ends || container !== (first === '}' ? '{' : '[')) return undefined
      open.pop()
      return 'after value'
    }
    case ',':
      if (state !== 'after value') return undefined
      return container === '{' ? 'name' : 'value'
    case ':':
      return state === 'after name' ? 'value' : undefined
    case '"':
      if (state.startsWith('name')) return 'after name'
      return state.startsWith('value') ? 'after value' : undefined
    default:
      return first !== '' && state.startsWith('value') ? 'after value' : undefined
  }
}

/** Where a token ends, or what in it is wrong. */
function readToken(text: string, at: number): { end: number; isFaulty: boolean } {
  const first = text[at] ?? ''
  if ('{}[],:'.includes(first)) return { end: at + 1, isFaulty: false }
  if (first === '"') return readString(text, at + 1)
  const end = matchAt(NUMBER_OR_WORD, text, at)
  return { end: end ?? at, isFaulty: end === undefined }
}

function readString(text: string, from: number) {
  for (let at = from; ;) {
    at = matchAt(PLAIN, text, at) ?? at
    if (text[at] === '"') return { end: at + 1, isFaulty: false }
    const end = matchAt(ESCAPE, text, at)
    if (end === undefined) return { end: at, isFaulty: true }
    at = end
  }
}

function skipSpace(text: string, at: number) {
  return matchAt(SPACE, text, at) ?? at
}

/** Where the match that begins at an offset ends. */
function matchAt(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

const SPACE = /[ \t\n\r]*/y
// oxlint-disable-next-line no-control-regex
const PLAIN = /[^"\\\x00-\x1f]*/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y
const NUMBER_OR_WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

type State = 'value' | 'value or end' | 'name' | 'name or end' | 'after name' | 'after value'
