import { badRequest } from './errors.ts'

/** Lists are counted exactly up to this many rows. */
export const COUNT_LIMIT = 10_000

export interface Page {
  readonly limit: number
  readonly offset: number
  readonly cursor?: string | undefined
}

/** An opaque cursor that stands for the last row of a page: its sort key, most significant first. */
export function encodeCursor(key: readonly (string | number | Date)[]) {
  return Buffer.from(JSON.stringify(key)).toString('base64url')
}

/**
 * The sort key in a cursor of a list of what we made the ids of: a time and an id.
 * @throws ApiError 400 for a text that is none of our cursors.
 */
export function decodeCursor(cursor: string | undefined): { at: Date; id: string } | undefined {
  const key = cursor === undefined ? undefined : readKey(cursor)
  if (key && !UUID.test(key[1] ?? '')) throw notOurs()
  return key && { at: new Date(key[0] as string), id: key[1] as string }
}

/**
 * The same of a list of traces, whose ids are the clients' and unique in a project only.
 * @throws ApiError 400
 */
export function decodeTraceCursor(cursor: string | undefined) {
  const key = cursor === undefined ? undefined : readKey(cursor)
  if (!key) return undefined
  const [at, trace_id, project_id] = key as [string, string, string]
  if (!UUID.test(project_id)) throw notOurs()
  return { started_at: new Date(at), trace_id, project_id }
}

/** A time that can be stored, and texts. */
function readKey(cursor: string): string[] {
  try {
    const key = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown
    if (Array.isArray(key) && key.length >= 2 && key.every(isText) && isTime(key[0] as string)) {
      return key as string[]
    }
  } catch {
    // Not JSON: refused below like any other text.
  }
  throw notOurs()
}

function isTime(text: string) {
  return /^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text))
}

function isText(value: unknown) {
  return typeof value === 'string' && !value.includes('\0')
}

function notOurs() {
  return badRequest('cursor is not one that this list gave')
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

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
