import { readTime } from '../jobs/rules/core/time.ts'
import { isUuid } from '../jobs/rules/core/uuid.ts'
import type { RegistryPlace } from '../sql/skills/registry.ts'
import { badRequest, validationError } from './errors.ts'

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
 * @throws ApiError 400 for a text that is not a cursor of this service, 422 for one with a time that
 * there is not
 */
export function decodeCursor(cursor: string | undefined): { at: Date; id: string } | undefined {
  const key = cursor === undefined ? undefined : readKey(cursor)
  if (!key) return undefined
  const [at, id] = key
  if (!isUuid(id)) throw notCursor()
  return { at, id }
}

/**
 * The sort key in a cursor of a list of traces, whose ids clients make, unique in their project only.
 * @throws ApiError 400, 422
 */
export function decodeTraceCursor(cursor: string | undefined) {
  const key = cursor === undefined ? undefined : readKey(cursor)
  if (!key) return undefined
  const [at, trace_id, project_id] = key
  if (project_id === undefined || !isUuid(project_id)) throw notCursor()
  return { started_at: at, trace_id, project_id }
}

/**
 * The number in a cursor that `encodeCursor([number])` made.
 * @param digits how many the number has at most: 9 fit into the type `int` of the database
 * @throws ApiError 400 for a text that is not such a cursor
 */
export function decodeNumberCursor(cursor: string | undefined, digits = 9): number | undefined {
  if (cursor === undefined) return undefined
  const number = /^\[(\d+)\]$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]
  if (number === undefined || number.length > digits) throw notCursor()
  return Number(number)
}

/**
 * The page of a short list that a query asks for. Its cursors stand for offsets.
 * @throws ApiError 400 for a cursor that `pageMembers` did not make
 */
export function readPage({ limit, offset, cursor }: Page & { cursor?: string | undefined }): Page {
  return { limit, offset: decodeNumberCursor(cursor) ?? offset }
}

/** The members of the answer of a short list, beside the list. */
export function pageMembers({ limit, offset }: Page, total: number) {
  const next = offset + limit
  return { total, limit, offset, next_cursor: next < total ? encodeCursor([next]) : null }
}

/**
 * The version and the ordinal in a cursor of rows of several versions.
 * @throws ApiError 400 for a text that `encodeCursor([version_id, ordinal])` did not make
 */
export function decodeRowCursor(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [id, ordinal, ...more] = readList(cursor)
  if (!isText(id) || !isUuid(id) || more.length > 0) throw notCursor()
  if (typeof ordinal !== 'number' || !Number.isSafeInteger(ordinal)) throw notCursor()
  return { version_id: id, ordinal }
}

/** The last span of a page. */
export interface SpanPlace {
  readonly id: string
  /** From 1, when the page was read. */
  readonly place: number
}

/**
 * The span in a cursor of the spans of a trace.
 * @throws ApiError 400 for a text that `encodeCursor([id, place])` did not make
 */
export function decodeSpanCursor(cursor: string | undefined): SpanPlace | undefined {
  if (cursor === undefined) return undefined
  const [id, place, ...more] = readList(cursor)
  if (!isText(id) || more.length > 0) throw notCursor()
  if (typeof place !== 'number' || !Number.isSafeInteger(place) || place < 1) throw notCursor()
  return { id, place }
}

/** A cursor of the registry: a place in one of its orders, and its rank there. */
export function encodePlaceCursor({ is_other, sort_key, skill_id }: RegistryPlace, rank: number) {
  return encodeCursor([Number(is_other), sort_key, skill_id, rank])
}

/** @throws ApiError 400 for a text that `encodePlaceCursor` did not make */
export function decodePlaceCursor(cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [isOther, sortKey, id, rank, ...more] = readList(cursor)
  if ((isOther !== 0 && isOther !== 1) || more.length > 0) throw notCursor()
  if (!isText(sortKey) || !SORT_KEY.test(sortKey) || !isText(id) || !isUuid(id)) throw notCursor()
  if (typeof rank !== 'number' || !Number.isSafeInteger(rank) || rank < 1) throw notCursor()
  return { is_other: isOther === 1, sort_key: sortKey, skill_id: id, rank }
}

/**
 * The text in a cursor that `encodeCursor([text])` made.
 * @throws ApiError 400 for a text that is not such a cursor
 */
export function decodeTextCursor(cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined
  const [text, ...more] = readList(cursor)
  if (!isText(text) || more.length > 0) throw notCursor()
  return text
}

/** Reads a key of a time that there is and can be stored, and of texts. */
function readKey(cursor: string): Key {
  const [time, ...texts] = readList(cursor)
  if (texts.length === 0 || !texts.every(isText)) throw notCursor()
  return [timeOf(time), ...(texts as [string])]
}

function readList(cursor: string): unknown[] {
  try {
    const key: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (Array.isArray(key)) return key
  } catch {
    // Not JSON: refused below like any other text.
  }
  throw notCursor()
}

function timeOf(text: unknown): Date {
  const time = typeof text === 'string' ? readTime(text) : undefined
  if (time) return time
  throw validationError([{ field: 'query.cursor', message: 'must name a time that there is' }])
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
 * @param counted rows that match, counted no further than COUNT_LIMIT + 1; null where that took too long
 */
export function listAnswer<Name extends string, Row, Item>(
  name: Name,
  page: Page,
  rows: readonly Row[],
  counted: number | null,
  show: (row: Row) => Item,
  keyOf: (row: Row) => readonly (string | number | Date)[],
) {
  const shown = rows.slice(0, page.limit)
  const last = shown.at(-1)
  return {
    ...({ [name]: shown.map(show) } as Record<Name, Item[]>),
    total: counted && Math.min(counted, COUNT_LIMIT),
    ...((counted === null || counted > COUNT_LIMIT) && { total_is_capped: true }),
    limit: page.limit,
    offset: page.offset,
    next_cursor: last && rows.length > page.limit ? encodeCursor(keyOf(last)) : null,
  }
}

type Key = readonly [at: Date, id: string, ...more: string[]]

/** A number as the database writes it. */
const SORT_KEY = /^(-?\d{1,12}(\.\d{1,12})?|Infinity)$/
