import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { inSteps } from '../../../jobs/rules/core/in-steps.ts'
import { NEWLINE } from '../../../jobs/rules/core/json-bytes.ts'
import { parseInPieces, UnparsedJson } from '../../../jobs/rules/core/json-pieces.ts'
import { JsonScan } from '../../../jobs/rules/core/json-scan.ts'
import { isObject } from '../../../jobs/rules/core/reader.ts'
import type { Members } from '../../../jobs/rules/import/format.ts'
import { SourceUnreadable } from './platform.ts'
import type { SourceAnswer, SourceRequest } from './platform.ts'

/**
 * Takes the rows out of an answer without parsing them, and yields to others meanwhile.
 * @param rows as of `SourceRequest`
 * @throws SourceUnreadable
 */
export async function takeApart(body: Buffer, rows: SourceRequest['rows']): Promise<SourceAnswer> {
  if (rows === null) return { rows: await linesOf(body), rest: {} }
  await check(body)
  if (rows === undefined) return { rows: [], rest: membersOf(parseRest(body)) }
  const found = await inSteps(parseInPieces(body, { name: rows, max: MAX_ROWS }), setImmediate)
  const listed = isObject(found) ? found[rows] : found
  const texts = Array.isArray(listed) ? listed.filter((each) => each instanceof UnparsedJson) : []
  if (texts.length > MAX_ROWS)
    throw new SourceUnreadable(`The answer has more than ${MAX_ROWS} rows`)
  const taken = texts.map(({ bytes }) => bytes)
  const rest = parseRest(withoutRows(body, taken))
  const list = isObject(rest) ? rest[rows] : rest
  if (!Array.isArray(list)) throw new SourceUnreadable(`The answer has no list ${rows}`)
  return { rows: taken, rest: membersOf(rest) }
}

async function linesOf(body: Buffer): Promise<Buffer[]> {
  const lines: Buffer[] = []
  for (let from = 0, looked = 0; from < body.length; looked++) {
    if (looked % LINES_TOGETHER === LINES_TOGETHER - 1) await setImmediate()
    const found = body.indexOf(NEWLINE, from)
    const to = found < 0 ? body.length : found
    if (to > from + 1) lines.push(body.subarray(from, to))
    if (lines.length > MAX_ROWS)
      throw new SourceUnreadable(`The answer has more than ${MAX_ROWS} rows`)
    from = to + 1
  }
  return lines
}

/** What takes the rows apart needs well-formed JSON. */
async function check(body: Buffer) {
  const scan = new JsonScan({ depth: MAX_LEVELS, members: Infinity, values: Infinity })
  for (let at = 0; at < body.length; at += PART_BYTES) {
    if (scan.take(body.subarray(at, at + PART_BYTES))) throw notJson()
    await setImmediate()
  }
  if (scan.end() || !isUtf8(body)) throw notJson()
}

/** The answer with an empty list in place of the rows. */
function withoutRows(body: Buffer, rows: readonly Buffer[]) {
  const [first, last] = [rows[0], rows.at(-1)]
  if (!first || !last) return body
  const from = first.byteOffset - body.byteOffset
  const to = last.byteOffset - body.byteOffset + last.length
  return Buffer.concat([body.subarray(0, from), body.subarray(to)])
}

function parseRest(bytes: Buffer): unknown {
  if (bytes.length > MAX_REST_BYTES)
    throw new SourceUnreadable('The answer has too much beside its rows')
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw notJson()
  }
}

function membersOf(rest: unknown): Members {
  return isObject(rest) ? rest : {}
}

function notJson() {
  return new SourceUnreadable('The answer is not JSON')
}

/** Many times what any platform gives at once. */
const MAX_ROWS = 100_000
const MAX_REST_BYTES = 1 << 20
/** A row of so many is a fault of its own. */
const MAX_LEVELS = 10_000
const PART_BYTES = 256 << 10
const LINES_TOGETHER = 10_000
