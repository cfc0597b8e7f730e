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

/** Why a text is not read on. */
export type JsonFinding =
  /** Offset of what no JSON text could have there; the length of a text that ends too early. */
  | { readonly kind: 'malformed'; readonly at: number }
  | { readonly kind: 'too deep' }
  | { readonly kind: 'too many values' }

export interface JsonLimits {
  /** Levels of lists and objects in one another; a list of numbers has one. */
  readonly depth: number
  /** Lists, objects, texts, numbers and words together. Names of members do not count. */
  readonly values: number
}

/**
 * Checks JSON while its bytes come in, before anything is made of them: that it is well-formed and stays
 * within limits. It keeps one flag a level, so the depth of a hostile text costs no stack.
 */
export class JsonScan {
  values = 0
  /** Some object has a member `__proto__`, however that is written. */
  hasProto = false

  readonly #limits: JsonLimits
  #state: State = VALUE
  /** What is open, outermost first: whether it is an object. */
  readonly #open: boolean[] = []
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
        case INTEGER:
        case FRACTION:
          if (isDigit(byte)) break
          if (this.#takeNumber(byte, i)) i--
          break
        case ZERO:
        case POWER:
        case MINUS:
        case POINT:
        case EXPONENT:
        case SIGN:
          if (this.#takeNumber(byte, i)) i--
          break
        case WORD:
        case ESCAPE:
        case HEX:
          this.#takeRest(byte)
          break
        default:
          if (!isSpace(byte)) this.#takeToken(byte, i)
      }
      if (this.#state === FAULT) return { kind: 'malformed', at: this.#mark }
      if (this.#state === TOO_DEEP) return { kind: 'too deep' }
      if (this.values > this.#limits.values) return { kind: 'too many values' }
    }
    this.#before += bytes.length
    return undefined
  }

  /** Tells that no part follows. */
  end(): JsonFinding | undefined {
    if (this.#open.length === 0 && ENDS.has(this.#state)) return undefined
    return { kind: 'malformed', at: MARKED.has(this.#state) ? this.#mark : this.#before }
  }

  #fail(at: number) {
    this.#mark = this.#before + at
    this.#state = FAULT
  }

  /** The first byte of a bracket, a separator or a value. */
  #takeToken(byte: number, at: number) {
    const state = this.#state
    if (byte === QUOTE && (state === NAME || state === NAME_OR_END)) {
      this.#isName = true
      this.#nameBytes = 0
      this.#state = TEXT
    } else if (byte === COMMA && state === AFTER_VALUE && this.#open.length > 0) {
      this.#state = this.#open.at(-1) ? NAME : VALUE
    } else if (byte === COLON && state === AFTER_NAME) {
      this.#state = VALUE
    } else if (byte === CLOSE_BRACKET && (state === AFTER_VALUE || state === VALUE_OR_END)) {
      this.#close(false, at)
    } else if (byte === CLOSE_BRACE && (state === AFTER_VALUE || state === NAME_OR_END)) {
      this.#close(true, at)
    } else if (state === VALUE || state === VALUE_OR_END) {
      this.values++
      this.#takeValue(byte, at)
    } else this.#fail(at)
  }

  #close(isObject: boolean, at: number) {
    if (this.#open.at(-1) !== isObject) return this.#fail(at)
    this.#open.pop()
    this.#state = AFTER_VALUE
  }

  #takeValue(byte: number, at: number) {
    this.#mark = this.#before + at
    const word = WORDS.get(byte)
    if (byte === QUOTE) {
      this.#isName = false
      this.#state = TEXT
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      this.#open.push(byte === OPEN_BRACE)
      const isTooDeep = this.#open.length > this.#limits.depth
      this.#state = isTooDeep ? TOO_DEEP : byte === OPEN_BRACE ? NAME_OR_END : VALUE_OR_END
    } else if (word !== undefined) {
      this.#word = word
      this.#state = WORD
    } else {
      this.#state =
        byte === DASH ? MINUS : byte === DIGIT_0 ? ZERO : isDigit(byte) ? INTEGER : FAULT
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
      if (byte !== this.#word.charCodeAt(0)) return void (this.#state = FAULT)
      this.#word = this.#word.slice(1)
      if (this.#word === '') this.#state = AFTER_VALUE
      return
    }
    if (this.#isName) this.#keepName([byte], 0, 1)
    if (state === HEX) {
      this.#state = !isHexDigit(byte) ? FAULT : --this.#digits === 0 ? TEXT : HEX
    } else if (byte === LETTER_U) {
      this.#digits = 4
      this.#state = HEX
    } else this.#state = ESCAPED.has(byte) ? TEXT : FAULT
  }

  /** Returns whether the number ended before this byte. */
  #takeNumber(byte: number, at: number): boolean {
    const state = this.#state
    const next = afterNumber(state, byte)
    if (next === undefined) {
      this.#state = ENDS.has(state) ? AFTER_VALUE : FAULT
      return ENDS.has(state)
    }
    if (next === POINT || next === EXPONENT) this.#mark = this.#before + at
    this.#state = next
    return false
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

/** What follows in a number; undefined where the byte is none of it. */
function afterNumber(state: State, byte: number): State | undefined {
  if (isDigit(byte)) {
    if (state === ZERO) return undefined
    if (state === MINUS) return byte === DIGIT_0 ? ZERO : INTEGER
    return state === POINT ? FRACTION : state === EXPONENT || state === SIGN ? POWER : state
  }
  if (byte === DOT && (state === ZERO || state === INTEGER)) return POINT
  const isWhole = state === ZERO || state === INTEGER || state === FRACTION
  if ((byte === LETTER_E || byte === CAPITAL_E) && isWhole) return EXPONENT
  return (byte === PLUS || byte === DASH) && state === EXPONENT ? SIGN : undefined
}

function isDigit(byte: number) {
  return byte >= DIGIT_0 && byte <= 0x39
}

function isHexDigit(byte: number) {
  const letter = byte | 0x20
  return isDigit(byte) || (letter >= 0x61 && letter <= 0x66)
}

const PROTO = '__proto__'
/** Each of its characters may be written in six. */
const LONGEST_PROTO = 6 * PROTO.length
const UNLIMITED: JsonLimits = { depth: Infinity, values: Infinity }

const FIRST_PRINTABLE = 0x20
const PLUS = 0x2b
const DASH = 0x2d
const DOT = 0x2e
const DIGIT_0 = 0x30
const COLON = 0x3a
const CAPITAL_E = 0x45
const UNDERSCORE = 0x5f
const LETTER_E = 0x65
const LETTER_U = 0x75
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'))
/** What follows the first letter of a word. */
const WORDS = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word.slice(1)]))

/** What is expected, or what is being read. Small integers, which are compared fastest. */
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
const MINUS = 10
const ZERO = 11
const INTEGER = 12
const POINT = 13
const FRACTION = 14
const EXPONENT = 15
const SIGN = 16
const POWER = 17
const TOO_DEEP = 18
const FAULT = 19
/** States in which a text may end. */
const ENDS: ReadonlySet<State> = new Set([AFTER_VALUE, ZERO, INTEGER, FRACTION, POWER])
/** States of which the beginning is at fault when they break off. */
const MARKED: ReadonlySet<State> = new Set([ESCAPE, HEX, WORD, MINUS, POINT, EXPONENT, SIGN])
