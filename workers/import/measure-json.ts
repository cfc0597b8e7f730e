/** How deep a JSON text is nested, and how many values it holds at most; it need not be well-formed. */
export function measureJson(bytes: Uint8Array): { depth: number; values: number } {
  let level = 0
  let depth = 0
  let values = 1
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) i = endOfString(bytes, i + 1)
    else if (byte === COMMA) values++
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      values++
      if (++level > depth) depth = level
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) level--
  }
  return { depth, values }
}

/** Index of the quote that ends a string, or the end of the text. */
function endOfString(bytes: Uint8Array, i: number) {
  for (; i < bytes.length; i++) {
    if (bytes[i] === BACKSLASH) i++
    else if (bytes[i] === QUOTE) break
  }
  return i
}

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
