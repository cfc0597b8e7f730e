import { NEWLINE } from './json-bytes.ts'
import { JsonScan } from './json-scan.ts'

/** Where a text stops being JSON. Line and column count from 1, columns in UTF-16 units. */
export interface JsonFault {
  readonly line: number
  readonly column: number
  /** The character there; undefined at the end of the text. */
  readonly met: string | undefined
}

/** Finds the first character that no JSON text could have there; undefined where the text is JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  const bytes = Buffer.from(text)
  const scan = new JsonScan()
  const finding = scan.take(bytes) ?? scan.end()
  return finding?.kind === 'malformed' ? locateFault(bytes, finding.at) : undefined
}

/**
 * Finds the line and the column of a fault, a piece at a time: it yields after each, so that the caller can
 * do other things between them.
 * @param at the place of the fault, counted in bytes of UTF-8
 */
export function* locateInPieces(bytes: Buffer, at: number): Generator<void, JsonFault> {
  let line = 1
  let column = 1
  for (let i = 0; i < at; i++) {
    const byte = bytes[i] as number
    if (byte === NEWLINE) {
      line++
      column = 1
    } else if (byte >= FIRST_OF_FOUR) column += 2
    else if (byte < CONTINUED || byte >= FIRST_OF_TWO) column++
    if (i % PIECE_BYTES === 0) yield
  }
  const met = bytes.toString('utf8', at, at + 4).codePointAt(0)
  return { line, column, met: met === undefined ? undefined : String.fromCodePoint(met) }
}

function locateFault(bytes: Buffer, at: number) {
  const pieces = locateInPieces(bytes, at)
  for (;;) {
    const piece = pieces.next()
    if (piece.done) return piece.value
  }
}

/** What is wrong at a fault, as the middle of a sentence. */
export function nameJsonFault({ met }: JsonFault) {
  return met === undefined ? 'it ends' : `unexpected ${JSON.stringify(met)}`
}

/** Bytes of UTF-8: from here on they go on with a character, begin one of two or three, and one of four. */
const CONTINUED = 0x80
const FIRST_OF_TWO = 0xc0
const FIRST_OF_FOUR = 0xf0
const PIECE_BYTES = 1 << 20
