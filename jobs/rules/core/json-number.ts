/** Where in a number a text is. */
export type NumberState = number
export const MINUS = 10
const ZERO = 11
export const INTEGER = 12
export const POINT = 13
export const FRACTION = 14
export const EXPONENT = 15
export const SIGN = 16
const POWER = 17

/** Where a value that begins so is; undefined where it is no number. */
export function beginNumber(byte: number): NumberState | undefined {
  if (byte === DASH) return MINUS
  if (byte === DIGIT_0) return ZERO
  return isDigit(byte) ? INTEGER : undefined
}

/** Where a number is with one more byte; undefined where the byte is none of it. */
export function followNumber(state: NumberState, byte: number): NumberState | undefined {
  if (isDigit(byte)) {
    if (state === ZERO) return undefined
    if (state === MINUS) return byte === DIGIT_0 ? ZERO : INTEGER
    if (state === POINT) return FRACTION
    return state === EXPONENT || state === SIGN ? POWER : state
  }
  if (byte === DOT && (state === ZERO || state === INTEGER)) return POINT
  const isWhole = state === ZERO || state === INTEGER || state === FRACTION
  if ((byte === LETTER_E || byte === CAPITAL_E) && isWhole) return EXPONENT
  return (byte === PLUS || byte === DASH) && state === EXPONENT ? SIGN : undefined
}

/** Whether a number may end there. */
export function isWholeNumber(state: NumberState) {
  return state === ZERO || state === INTEGER || state === FRACTION || state === POWER
}

export function isDigit(byte: number) {
  return byte >= DIGIT_0 && byte <= DIGIT_9
}

const PLUS = 0x2b
const DASH = 0x2d
const DOT = 0x2e
const DIGIT_0 = 0x30
const DIGIT_9 = 0x39
const CAPITAL_E = 0x45
const LETTER_E = 0x65
