import { storableText } from './db.ts'

/** Text of a Postgres array of texts, or of what is written as text; it takes any element, null too. */
export function arrayText(items: readonly (string | null)[]): string {
  return `{${items.map((item) => (item === null ? 'NULL' : quoted(item))).join()}}`
}

function quoted(item: string) {
  const text = item.includes('\0') ? storableText(item) : item
  return `"${NEEDS_ESCAPE.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`
}

const NEEDS_ESCAPE = /["\\]/
