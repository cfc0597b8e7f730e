import { isObject } from '../core/reader.ts'
import { trainingJson } from '../core/training-json.ts'

/** What a message holds. */
export interface Content {
  /** The texts, of several parts joined by line feeds; null when there is none. */
  readonly text: string | null
  /** Canonical JSON of each part, where it came in parts. */
  readonly parts?: readonly string[]
  /** Some part is no text: an image, a sound or a file. */
  readonly hasMedia?: boolean
}

/** Reads the content of a message: a text, a list of parts, or nothing. Undefined for what is none of these. */
export function readContent(given: unknown): Content | undefined {
  if (given === undefined || given === null) return NOTHING
  if (typeof given === 'string') return { text: given }
  if (!Array.isArray(given)) return undefined
  if (given.length === 0) return NOTHING
  const parts = given.map(readPart)
  if (!parts.every((part) => part !== undefined)) return undefined
  const texts = parts.flatMap(({ text }) => text ?? [])
  return {
    text: texts.length > 0 ? texts.join('\n') : null,
    parts: parts.map(({ json }) => json),
    hasMedia: texts.length < parts.length,
  }
}

/** A bare text is a part too. What calls itself a text must have one. */
function readPart(given: unknown): Part | undefined {
  const part = typeof given === 'string' ? { type: 'text', text: given } : given
  if (!isObject(part)) return undefined
  const { type, text, refusal } = part
  const json = trainingJson(part)
  if (json === undefined) return undefined
  const said = text ?? refusal
  if (typeof said === 'string') return { json, text: said }
  const isMedia = typeof type === 'string' && !TEXT_TYPES.has(type)
  return isMedia ? { json } : undefined
}

const TEXT_TYPES = new Set(['text', 'input_text', 'output_text', 'refusal'])
const NOTHING: Content = { text: null }

interface Part {
  readonly json: string
  readonly text?: string
}
