import { isObject } from './reader.ts'

/** The value of a JSON text; undefined for a text that is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A result as a value with parts; undefined for a plain text, which no schema of parts is about. */
export function structuredJson(result: unknown): unknown {
  if (typeof result === 'string') return parseJson(result)
  return isObject(result) || Array.isArray(result) ? result : undefined
}
