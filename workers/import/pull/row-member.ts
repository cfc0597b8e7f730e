import { setImmediate } from 'node:timers/promises'
import {
  CLOSE_BRACE,
  COMMA,
  isSpace,
  OPEN_BRACE,
  QUOTE,
} from '../../../jobs/rules/core/json-bytes.ts'
import { openBrackets } from '../containers/scan-values.ts'
import { MAX_RECORD_BYTES } from '../containers/split-records.ts'

/**
 * A text inside of each row that has it and is not too long to be a record, in their order. It yields to
 * others meanwhile.
 * @param path as of `textMember`
 */
export async function textMembers(rows: readonly Buffer[], path: readonly string[]) {
  const texts: string[] = []
  let bytes = 0
  for (const row of rows) {
    if (row.length > MAX_RECORD_BYTES) continue
    const text = textMember(row, path)
    if (text !== undefined) texts.push(text)
    bytes += row.length
    if (bytes < BYTES_TOGETHER) continue
    bytes = 0
    await setImmediate()
  }
  return texts
}

/**
 * A text inside of a row, found without parsing the row, which may be large and hold anything.
 * @param path names of members, from the outermost to that of the text
 * @returns undefined where the path leads to no text, or to one of more than 1,000 bytes
 */
export function textMember(row: Buffer, path: readonly string[]): string | undefined {
  let value: Buffer | undefined = row
  for (const name of path) value = value && findMember(value, name)
  if (!value || value.length > MAX_BYTES || value[0] !== QUOTE) return undefined
  return parsedText(value)
}

/** The JSON text of an object's first member of a name, found as `textMember` finds texts. */
export function findMember(object: Buffer, name: string): Buffer | undefined {
  let i = skipTo(object, 0)
  if (object[i] !== OPEN_BRACE) return undefined
  for (;;) {
    i = skipTo(object, i + 1)
    if (object[i] === CLOSE_BRACE) return undefined
    const nameEnd = openBrackets().findEnd(object, i)
    const start = skipTo(object, nameEnd)
    const end = openBrackets().findEnd(object, start)
    if (nameEnd < 0 || end < 0) return undefined
    const found = object.subarray(i, nameEnd)
    if (found.length <= MAX_BYTES && parsedText(found) === name) return object.subarray(start, end)
    i = skipTo(object, end)
    if (object[i] !== COMMA) return undefined
  }
}

/** Index of the next byte that is neither white space nor the colon after a name. */
function skipTo(bytes: Buffer, i: number) {
  while (isSpace(bytes[i]) || bytes[i] === COLON) i++
  return i
}

function parsedText(bytes: Buffer): string | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

const COLON = 0x3a
const MAX_BYTES = 1000
const BYTES_TOGETHER = 1 << 20
