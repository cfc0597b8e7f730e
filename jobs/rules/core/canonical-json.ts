import canonicalize from 'canonicalize'
import { messageOf } from './error-message.ts'

/**
 * The one JSON text of a value (RFC 8785), with all strings in Unicode normalization form C: equal
 * values have equal bytes, whatever the order of their members and however their accents were typed.
 * @throws TypeError for what has no such text: NaN, infinities, lone surrogates, undefined, cycles,
 * and two members whose names differ in normalization only
 */
export function canonicalJson(value: unknown): string {
  let text: string | undefined
  try {
    text = canonicalize(composed(value))
  } catch (error) {
    throw new TypeError(`Not canonical JSON: ${messageOf(error)}`, { cause: error })
  }
  if (text === undefined) throw new TypeError('Not canonical JSON: no value')
  return text
}

function composed(value: unknown): unknown {
  if (typeof value === 'string') return value.normalize('NFC')
  if (Array.isArray(value)) return value.map(composed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value)
  const result = Object.fromEntries(
    members.map(([name, member]) => [name.normalize('NFC'), composed(member)]),
  )
  if (Object.keys(result).length < members.length) throw new Error('two members of one name')
  return result
}
