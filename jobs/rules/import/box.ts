import { compressText, inflateText } from '../core/zstd.ts'

/**
 * A JSON list as it is staged. Of a short text compression would save little, and cost more than all else that is
 * done with it.
 */
export function box(text: string): Buffer {
  return text.length < COMPRESSED_FROM ? Buffer.from(text) : compressText(text)
}

/** The text in a box; no JSON list begins as a compressed text does. */
export function unbox(content: Uint8Array): Buffer {
  return content[0] === LIST_START ? Buffer.from(content) : inflateText(content)
}

/** Characters. */
const COMPRESSED_FROM = 2 << 10
const LIST_START = 0x5b
