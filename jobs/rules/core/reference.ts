import { isUuid } from './uuid.ts'

/**
 * Reads the id by which a request names something we made. A text that is no UUID names nothing: it
 * becomes the nil UUID, which nothing has, so that it is as unknown as any other id.
 */
export function readUuidReference(id: string) {
  return isUuid(id) ? id : NIL_UUID
}

/**
 * Reads the id or name by which a request names something whose id or name is a text. What Postgres
 * cannot hold becomes a control character, which no id has: such a text is as unknown as any other.
 */
export function readTextReference(id: string) {
  return id.replace(/[\0\p{Cs}]/gu, '\u0001')
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000'
