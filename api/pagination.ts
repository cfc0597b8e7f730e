import { isUuid } from '../jobs/rules/core/uuid.ts'
import { badRequest } from './errors.ts'

/** Lists are counted exactly up to this many rows. */
export const COUNT_LIMIT = 10_000

export interface Page {
  readonly limit: number
  readonly offset: number
}

/** An opaque cursor that stands for the last row of a page: its sort key, most significant first. */
export function encodeCursor(key: readonly (string | number | Date)[]) {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

/**
 * The sort key in a cursor of a list whose ids we made: a time and an id.
 * @throws ApiError 400 for a text that is not a cursor of this service
 */
export function decodeCursor(cursor: string | undefined): { at: Date; id: string } | undefined {
  const key = cursor === undefined ? undefined : readKey(cursor)
  if (!key) return undefined
  const [at, id] = key
  if (!isUuid(id)) throw notCursor()
  return { at: new Date(at), id }
}

/**
 * The sort key in a cursor of a list of traces, whose ids clients make, unique in their project only.
 * @throws ApiError 400
 */
export function decodeTraceCursor(cursor: string | undefined) {
  const key = cursor === undefined ? undefined : readKey(cursor)
  if (!key) return undefined
  const [at, trace_id, project_id] = key
  if (project_id === undefined || !isUuid(project_id)) throw notCursor()
  return { started_at: new Date(at), trace_id, project_id }
}

/**
 * The number in a cursor that `encodeCursor([number])` made.
 * @param digits how many the number has at most
 * @throws ApiError 400 for a text that is not such a cursor
 */
export function decodeNumberCursor(cursor: string | undefined, digits = 15): number | undefined {
  if (cursor === undefined) return undefined
  const number = /^\[(\d+)\]$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]
  if (number === undefined || number.length > digits) throw notCursor()
  return Number(number)
}

/** Reads a key of a time that can be stored, and of texts. */
function readKey(cursor: string): Key {
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (isKey(key)) return key
  } catch {
    // Not JSON: refused below like any other text.
  }
  throw notCursor()
}

function isKey(value: unknown): value is Key {
  return Array.isArray(value) && value.length >= 2 && value.every(isText) && isTime(value[0] ?? '')
}

function isTime(text: string) {
  return /^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text))
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0')
}

function notCursor() {
  return badRequest('cursor is not one that this list gave')
}

/** The sort key of a list that is read newest first. */
export function ageKey({ created_at, id }: { created_at: Date; id: string }) {
  return [created_at, id] as const
}

/**
 * The answer of a list: `rows` holds one row more than the page when there are further ones.
 * @param counted rows that match, counted no further than COUNT_LIMIT + 1
 */
export function listAnswer<Row, Item>(
  name: string,
  page: Page,
  rows: readonly Row[],
  counted: number,
  show: (row: Row) => Item,
  keyOf: (row: Row) => readonly (string | number | Date)[],
) {
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  return {
    [name]: shown.map(show),
    total: Math.min(counted, COUNT_LIMIT),
    ...(counted > COUNT_LIMIT && { total_is_capped: true }),
    limit: page.limit,
    offset: page.offset,
    next_cursor: last && rows.length > page.limit ? encodeCursor(keyOf(last)) : null,
  }
}

type Key = readonly [at: string, id: string, ...more: string[]]
