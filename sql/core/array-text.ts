import { BACKSLASH, QUOTE } from '../../jobs/rules/core/json-bytes.ts'
import { storableText } from './db.ts'

/** Text of a Postgres array of texts, or of what is written as text; it takes any element, null too. */
export function arrayText(items: readonly (string | null)[]): string {
  return arrayOf(items, quoted)
}

/**
 * Text of a Postgres array of any values, null and undefined too.
 * @param write gives an element as it stands in the array, such as `quoted` or, for what has neither spaces nor
 * punctuation of arrays in it, `String`
 */
export function arrayOf<T>(
  items: readonly (T | null | undefined)[],
  write: (item: T) => string,
): string {
  const isNone = (item: T | null | undefined) => item === null || item === undefined
  return `{${items.map((item) => (isNone(item) ? 'NULL' : write(item as T))).join()}}`
}

/** Bytes as the text of an element. */
export function byteaText(bytes: Uint8Array): string {
  return `\\x${hexOf(bytes)}`
}

/** Bytes as an element; the same as `quoted` of their text, without a search for what to escape. */
export function quotedBytes(bytes: Uint8Array): string {
  return `"\\\\x${hexOf(bytes)}"`
}

function hexOf({ buffer, byteOffset, byteLength }: Uint8Array) {
  return Buffer.from(buffer, byteOffset, byteLength).toString('hex')
}

/** A text as an element. */
export function quoted(item: string) {
  const text = item.includes('\0') ? storableText(item) : item
  return `"${NEEDS_ESCAPE.test(text) ? escaped(text) : text}"`
}

/** By bytes where the text is long: a regular expression takes 50 times its memory, and as much time. */
function escaped(text: string) {
  if (text.length < LONG) return text.replace(/["\\]/g, '\\$&')
  const bytes = Buffer.from(text)
  const written = Buffer.allocUnsafe(2 * bytes.length)
  let length = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    if (byte === QUOTE || byte === BACKSLASH) written[length++] = BACKSLASH
    written[length++] = byte
  }
  return written.toString('utf8', 0, length)
}

const LONG = 4096
const NEEDS_ESCAPE = /["\\]/
