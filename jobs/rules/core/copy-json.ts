import { cut, isObject } from './reader.ts'

/**
 * Copies values of JSON with every text in them cut to `maxLength` characters; names of members are left as
 * they are. It counts the bytes of their JSON texts on the way, and stops within the value that passes
 * `maxBytes`, so that its work is bounded by them however large the values are.
 */
export function openCopying(maxLength: number, maxBytes: number) {
  let left = maxBytes

  function copyAny(value: unknown): unknown {
    if (left < 0) return undefined
    if (typeof value === 'string') return takeText(cut(value, maxLength))
    if (Array.isArray(value)) return takeAll(value, copyAny)
    if (!isObject(value)) return take(value, String(value).length)
    const named = Object.entries(value).filter(([, member]) => member !== undefined)
    return Object.fromEntries(takeAll(named, copyMember))
  }

  function copyMember([name, member]: [string, unknown]): [string, unknown] {
    left -= ':'.length
    return [takeText(name), copyAny(member)]
  }

  /** The items with the commas and brackets that they have in a text. */
  function takeAll<Item, Copy>(items: readonly Item[], copy: (item: Item) => Copy): Copy[] {
    const copies: Copy[] = []
    left -= Math.max(1, items.length) + 1
    for (const item of items) {
      if (left < 0) break
      copies.push(copy(item))
    }
    return copies
  }

  function takeText(text: string) {
    // A text has a byte for each character at least: one that is too long is not looked at.
    return take(text, text.length > left ? text.length : bytesOf(text))
  }

  function take<Value>(value: Value, bytes: number): Value {
    left -= bytes
    return value
  }

  return {
    /** Of no use once `isOver`. */
    copy: <Value>(value: Value) => copyAny(value) as Value,
    isOver: () => left < 0,
    /** The bytes of all that was copied. */
    taken: () => maxBytes - left,
  }
}

export type Copying = ReturnType<typeof openCopying>

/** Of the JSON text of a value. */
export function bytesOf(value: unknown) {
  return Buffer.byteLength(JSON.stringify(value))
}
