/**
 * Writes the JSON of a content from what `sharedPieces` wrote, without parsing either: what a call refers to
 * is copied from where it stands. Equal to `contentText` of the opened content. Some pieces are empty, so that
 * whoever writes them may pause.
 * @throws TypeError for what `sharedPieces` did not write
 */
export function* openSharedText(text: Buffer): Generator<Uint8Array> {
  const messages = yield* readList(text, behind(text, 0, '{"messages":'))
  const schemas = yield* readList(text, behind(text, messages.end, ',"schemas":'))
  const spans = yield* readList(text, behind(text, schemas.end, ',"spans":'))
  yield SPANS
  yield text.subarray(spans.start, spans.end)
  const calls = behind(text, spans.end, ',"llm_calls":')
  let copied = spans.end
  for (const { name, start, end } of referringMembers(text, calls)) {
    const list = name === '"tools"' || name === '"response_format"' ? schemas : messages
    const shared = referredTo(text, start, end, name === '"rendered_input"', list)
    if (!shared) continue
    yield text.subarray(copied, start)
    yield* shared
    copied = end
  }
  yield text.subarray(copied)
}

/** The members of all calls that may refer to a list. */
function* referringMembers(text: Buffer, list: number): Generator<TextMember> {
  if (text[list] !== OPEN_LIST) throw damaged()
  if (text[list + 1] === CLOSE_LIST) return
  for (let at = list; text[at] !== CLOSE_LIST;) {
    const call = at + 1
    at = text[call] === OPEN_OBJECT ? yield* membersOf(text, call) : endOfValue(text, call)
  }
}

/** Gives back where the object ends, exclusive. */
function* membersOf(text: Buffer, object: number): Generator<TextMember, number> {
  if (text[object + 1] === CLOSE_OBJECT) return object + 2
  let at = object
  while (text[at] !== CLOSE_OBJECT) {
    const start = endOfString(text, at + 1) + 1
    const name = text.toString('latin1', at + 1, start - 1)
    at = endOfValue(text, start)
    if (REFERRING.has(name)) yield { name, start, end: at }
  }
  return at + 1
}

/** Undefined for a value that refers to nothing, and stands as it is. */
function referredTo(text: Buffer, start: number, end: number, isPrompt: boolean, list: TextList) {
  if (isPrompt) return text[start] === OPEN_LIST ? listed(text, start, end, list) : undefined
  const value = text.toString('latin1', start, end)
  return value === 'null' ? undefined : [rangeOf(text, list, Number(value), Number(value) + 1)]
}

/** The messages of pairs of indices. Those of a pair stand side by side, as they do in the prompt. */
function* listed(text: Buffer, start: number, end: number, list: TextList) {
  yield LIST_START
  const ranges = text.toString('latin1', start + 1, end - 1)
  const indices = ranges === '' ? [] : ranges.split(',').map(Number)
  for (let i = 0; i < indices.length; i += 2) {
    if (i > 0) yield COMMA
    yield rangeOf(text, list, indices[i], indices[i + 1])
  }
  yield LIST_END
}

/** @param to exclusive */
function rangeOf(text: Buffer, { starts, ends }: TextList, from = NaN, to = NaN) {
  const [start, end] = [starts[from], ends[to - 1]]
  if (start === undefined || end === undefined || to <= from) throw damaged()
  return text.subarray(start, end)
}

function* readList(text: Buffer, at: number): Generator<Uint8Array, TextList> {
  const starts: number[] = []
  const ends: number[] = []
  for (const { start, end } of itemsOf(text, at)) {
    starts.push(start)
    ends.push(end)
    yield NOTHING
  }
  return { start: at, end: (ends.at(-1) ?? at + 1) + 1, starts, ends }
}

/** Where the items of a list are. */
function* itemsOf(text: Buffer, list: number): Generator<TextRange> {
  if (text[list] !== OPEN_LIST) throw damaged()
  if (text[list + 1] === CLOSE_LIST) return
  for (let at = list; text[at] !== CLOSE_LIST;) {
    const start = at + 1
    at = endOfValue(text, start)
    yield { start, end: at }
  }
}

/** Where the JSON value that begins at `start` ends, exclusive. */
function endOfValue(text: Buffer, start: number): number {
  let depth = 0
  for (let at = start; at < text.length;) {
    const byte = text[at]
    if (depth === 0 && (byte === COMMA_BYTE || byte === CLOSE_LIST || byte === CLOSE_OBJECT)) {
      return at
    }
    if (byte === QUOTE) {
      at = endOfString(text, at)
      continue
    }
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--
    at++
  }
  throw damaged()
}

/** Where the string whose quote is at `start` ends, exclusive. */
function endOfString(text: Buffer, start: number): number {
  for (let quote = start; (quote = text.indexOf(QUOTE, quote + 1)) !== -1;) {
    let before = quote
    while (text[before - 1] === BACKSLASH) before--
    if ((quote - before) % 2 === 0) return quote + 1
  }
  throw damaged()
}

/** Behind a text that has to stand at `at`. */
function behind(text: Buffer, at: number, expected: string) {
  const end = at + expected.length
  if (text.toString('latin1', at, end) !== expected) throw damaged()
  return end
}

function damaged() {
  return new TypeError('The text is none of a content that shares messages')
}

const REFERRING: ReadonlySet<string> = new Set([
  '"rendered_input"',
  '"output"',
  '"tools"',
  '"response_format"',
])
const [QUOTE, BACKSLASH, COMMA_BYTE] = [0x22, 0x5c, 0x2c]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const SPANS = Buffer.from('{"spans":')
const LIST_START = Buffer.from('[')
const LIST_END = Buffer.from(']')
const COMMA = Buffer.from(',')
const NOTHING = Buffer.of()

/** Offsets in the text; ends are exclusive. */
interface TextRange {
  readonly start: number
  readonly end: number
}

interface TextMember extends TextRange {
  /** With its quotes. */
  readonly name: string
}

interface TextList extends TextRange {
  /** Of each item. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
}
