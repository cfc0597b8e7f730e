import { badRequest } from '../errors.ts'

/**
 * The number in a cursor that `encodeCursor([number])` made.
 * @throws ApiError 400 for a text that is not such a cursor
 */
export function decodeNumber(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  const number = /^\[(\d{1,15})\]$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]
  if (number === undefined) throw badRequest('cursor is not one that this list gave')
  return Number(number)
}
