import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-bytes.ts'
import {
  beginNumber,
  EXPONENT,
  followNumber,
  FRACTION,
  INTEGER,
  isDigit,
  isWholeNumber,
  MINUS,
  POINT,
  SIGN,
} from './json-number.ts'

/** Why a text is not read on. */
export type JsonFinding =
  /** Offset of what no JSON text could have there; the length of a text that ends too early. */
  | { readonly kind: 'malformed'; readonly at: number }
  | { readonly kind: 'too deep' | 'too wide' | 'too many values' }

export interface JsonLimits {
  /** Levels of lists and objects in one another; a list of numbers has one. */
  readonly depth: number
  /** Members of one object. */
  readonly members: number
  /** Lists, objects, texts, numbers and words together. Names of members do not count. */
  readonly values: number
}

/** Members of one object in a JSON body. */
export const MAX_MEMBERS = 20_000
/** Values in a JSON body: as many numbers as vectors of 5 MiB usually hold. */
export const MAX_VALUES = 300_000

/**
 * Checks JSON while its bytes come in, before anything is made of them: that it is well-formed and stays
 * within limits. It keeps one number a level, so the depth of a hostile text costs no stack.
 */
export class JsonScan {
  values = 0
  /** Some object has a member `__proto__`, however that is written. */
  hasProto = false

  readonly #limits: JsonLimits
  #state: State = VALUE
  /** What is open, outermost first: how many members of an object were read, or `LIST`. */
  readonly #open: number[] = []
  #found: JsonFinding | undefined
  /** Bytes of the parts before this one. */
  #before = 0
  /** Where a word, an escape, a sign or an exponent began: it is at fault as a whole. */
  #mark = 0
  /** What is left of a word. */
  #word = ''
  /** Digits that an escape still needs. */
  #digits = 0
  /** The text that is read is the name of a member. */
  #isName = false
  readonly #name = new Uint8Array(LONGEST_PROTO)
  #nameBytes = 0

  constructor(limits: JsonLimits = UNLIMITED) {
    this.#limits = limits
  }

  /** Takes the next part. What it finds is final. */
  take(bytes: Uint8Array): JsonFinding | undefined {
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i] as number
      switch (this.#state) {
        case TEXT:
          i = this.#takeText(bytes, i)
          break
        case WORD:
        case ESCAPE:
        case HEX:
          this.#takeRest(byte)
          break
        case VALUE:
        case VALUE_OR_END:
        case NAME:
        case NAME_OR_END:
        case AFTER_NAME:
        case AFTER_VALUE:
          if (!isSpace(byte)) this.#takeToken(byte, i)
          break
        default:
          // Most bytes of a number go on with its digits. What ends it is looked at again.
          if (isDigit(byte) && (this.#state === INTEGER || this.#state === FRACTION)) break
          if (this.#takeNumber(byte, i)) i--
      }
      if (this.#found) return this.#found
    }
    this.#before += bytes.length
    return undefined
  }

  /** Tells that no part follows. */
  end(): JsonFinding | undefined {
    const isEnd = this.#state === AFTER_VALUE || isWholeNumber(this.#state)
    if (this.#open.length === 0 && isEnd) return undefined
    return { kind: 'malformed', at: MARKED.has(this.#state) ? this.#mark : this.#before }
  }

  /** What is at fault is at an offset of this part, or what began at the mark. */
  #fail(at = this.#mark - this.#before) {
    this.#found = { kind: 'malformed', at: this.#before + at }
  }

  /** The first byte of a bracket, a separator or a value. */
  #takeToken(byte: number, at: number) {
    const state = this.#state
    if (byte === QUOTE && (state === NAME || state === NAME_OR_END)) {
      this.#beginName()
    } else if (byte === COMMA && state === AFTER_VALUE && this.#open.length > 0) {
      this.#state = this.#open.at(-1) === LIST ? VALUE : NAME
    } else if (byte === COLON && state === AFTER_NAME) {
      this.#state = VALUE
    } else if (byte === CLOSE_BRACKET && (state === AFTER_VALUE || state === VALUE_OR_END)) {
      this.#close(false, at)
    } else if (byte === CLOSE_BRACE && (state === AFTER_VALUE || state === NAME_OR_END)) {
      this.#close(true, at)
    } else if (state === VALUE || state === VALUE_OR_END) {
      this.#takeValue(byte, at)
    } else this.#fail(at)
  }

  #beginName() {
    const level = this.#open.length - 1
    const members = (this.#open[level] as number) + 1
    this.#open[level] = members
    if (members > this.#limits.members) this.#found = { kind: 'too wide' }
    this.#isName = true
    this.#nameBytes = 0
    this.#state = TEXT
  }

  #close(isObject: boolean, at: number) {
    const open = this.#open.at(-1)
    if (open === undefined || (open !== LIST) !== isObject) return this.#fail(at)
    this.#open.pop()
    this.#state = AFTER_VALUE
  }

  #takeValue(byte: number, at: number) {
    if (++this.values > this.#limits.values) this.#found = { kind: 'too many values' }
    this.#mark = this.#before + at
    const word = WORDS.get(byte)
    if (byte === QUOTE) {
      this.#isName = false
      this.#state = TEXT
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#open.push(byte === OPEN_BRACE ? 0 : LIST)
      if (this.#open.length > this.#limits.depth) this.#found = { kind: 'too deep' }
      this.#state = byte === OPEN_BRACE ? NAME_OR_END : VALUE_OR_END
    } else if (word !== undefined) {
      this.#word = word
      this.#state = WORD
    } else {
      const number = beginNumber(byte)
      if (number === undefined) this.#fail()
      else this.#state = number
    }
  }

  /** Goes on to what ends or escapes in a text, and returns its place, or that of the last byte. */
  #takeText(bytes: Uint8Array, from: number) {
    let i = from
    let byte = bytes[i] as number
    while (byte !== QUOTE && byte !== BACKSLASH && byte >= FIRST_PRINTABLE) {
      if (++i === bytes.length) break
      byte = bytes[i] as number
    }
    const isCut = i === bytes.length
    if (this.#isName) this.#keepName(bytes, from, byte === BACKSLASH && !isCut ? i + 1 : i)
    if (isCut) return i - 1
    if (byte === QUOTE) {
      if (this.#isName && this.#nameBytes >= PROTO.length) this.#checkName()
      this.#state = this.#isName ? AFTER_NAME : AFTER_VALUE
    } else if (byte === BACKSLASH) {
      this.#mark = this.#before + i
      this.#state = ESCAPE
    } else this.#fail(i)
    return i
  }

  /** The rest of a word or of an escape. */
  #takeRest(byte: number) {
    const state = this.#state
    if (state === WORD) {
      if (byte !== this.#word.charCodeAt(0)) return this.#fail()
      this.#word = this.#word.slice(1)
      if (this.#word === '') this.#state = AFTER_VALUE
      return
    }
    if (this.#isName) this.#keepName([byte], 0, 1)
    if (state === ESCAPE && byte === LETTER_U) {
      this.#digits = 4
      this.#state = HEX
    } else if (state === ESCAPE ? !ESCAPED.has(byte) : !HEX_DIGITS.has(byte)) {
      this.#fail()
    } else if (state === ESCAPE || --this.#digits === 0) this.#state = TEXT
  }

  /** Returns whether the number ended before this byte. */
  #takeNumber(byte: number, at: number): boolean {
    const next = followNumber(this.#state, byte)
    if (next !== undefined) {
      if (next === POINT || next === EXPONENT) this.#mark = this.#before + at
      this.#state = next
      return false
    }
    if (!isWholeNumber(this.#state)) this.#fail()
    this.#state = AFTER_VALUE
    return true
  }

  /** Keeps the name of a member as it is written, as far as it can be `__proto__`. */
  #keepName(bytes: ArrayLike<number>, from: number, to: number) {
    for (let i = from; i < to && this.#nameBytes <= LONGEST_PROTO; i++) {
      this.#name[this.#nameBytes++] = bytes[i] as number
    }
  }

  #checkName() {
    const [first] = this.#name
    if (this.#nameBytes > LONGEST_PROTO || (first !== UNDERSCORE && first !== BACKSLASH)) return
    const text = Buffer.from(this.#name.subarray(0, this.#nameBytes)).toString('latin1')
    if (JSON.parse(`"${text}"`) === PROTO) this.hasProto = true
  }
}

const PROTO = '__proto__'
/** Each of its characters may be written in six. */
const LONGEST_PROTO = 6 * PROTO.length
const UNLIMITED: JsonLimits = { depth: Infinity, members: Infinity, values: Infinity }
/** Stands for a list among what is open. */
const LIST = -1

const FIRST_PRINTABLE = 0x20
const COLON = 0x3a
const UNDERSCORE = 0x5f
const LETTER_U = 0x75
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'))
const HEX_DIGITS = new Set(Buffer.from('0123456789abcdefABCDEF'))
/** What follows the first letter of a word. */
const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word.slice(1)]))

/** What is expected, or what is being read: one of these, or a place in a number. Integers compare fastest. */
type State = number
const VALUE = 0
const VALUE_OR_END = 1
const NAME = 2
const NAME_OR_END = 3
const AFTER_NAME = 4
const AFTER_VALUE = 5
const TEXT = 6
const ESCAPE = 7
const HEX = 8
const WORD = 9
/** What is at fault from its beginning when it breaks off. */
const MARKED: ReadonlySet<State> = new Set([ESCAPE, HEX, WORD, MINUS, POINT, EXPONENT, SIGN])
