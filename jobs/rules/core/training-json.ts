import { MAX_DEPTH } from './depth.ts'
import { isObject } from './reader.ts'
import { isStorableText } from './storable.ts'

/**
 * The canonical JSON text of a value (RFC 8785), its strings as they came: what a model is trained on
 * is not normalised. Undefined for what is nested deeper than `MAX_DEPTH` and for numbers JSON does
 * not have, which arise from literals such as 1e999.
 */
export function trainingJson(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : undefined
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (depth === MAX_DEPTH) return undefined
  if (Array.isArray(value)) return joined('[', ']', value, (item) => trainingJson(item, depth + 1))
  return joined('{', '}', Object.keys(value).sort(), (name) => {
    const member = trainingJson((value as Record<string, unknown>)[name], depth + 1)
    return member === undefined ? undefined : `${JSON.stringify(name)}:${member}`
  })
}

/** Whether a JSON text holds a NUL or a lone surrogate, which neither Parquet nor trainers take. */
export function hasUnfitText(json: string): boolean {
  return json.includes('\\u') && SUSPICIOUS.test(json) && isUnfit(JSON.parse(json))
}

function joined<T>(
  open: string,
  close: string,
  items: readonly T[],
  text: (item: T) => string | undefined,
) {
  let all = open
  for (const item of items) {
    const one = text(item)
    if (one === undefined) return undefined
    all += all.length === 1 ? one : `,${one}`
  }
  return all + close
}

function isUnfit(value: unknown): boolean {
  if (typeof value === 'string') return !isStorableText(value)
  if (Array.isArray(value)) return value.some(isUnfit)
  return isObject(value) && Object.entries(value).some(([k, v]) => isUnfit(k) || isUnfit(v))
}

/** JSON.stringify writes both as these escapes; a text that speaks of escapes looks the same. */
const SUSPICIOUS = /\\u(?:0000|d[89a-f])/
