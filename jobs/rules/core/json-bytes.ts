/** The bytes that structure a JSON text, in UTF-8. */
export const NEWLINE = 0x0a
export const QUOTE = 0x22
export const COMMA = 0x2c
export const OPEN_BRACKET = 0x5b
export const BACKSLASH = 0x5c
export const CLOSE_BRACKET = 0x5d
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d

/** Whether a byte is white space between JSON tokens. */
export function isSpace(byte: number | undefined) {
  return byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09
}
