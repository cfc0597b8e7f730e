import { isUtf8 } from 'node:buffer'

/** Joins parts, a piece at a time: it yields after each, so that the caller can do other things. */
export function* joinInPieces(parts: readonly Buffer[], length: number): Generator<void, Buffer> {
  const [first] = parts
  if (first?.length === length) return first
  const whole = Buffer.allocUnsafe(length)
  let at = 0
  for (const part of parts) {
    at += part.copy(whole, at)
    yield
  }
  return whole
}

/** Whether bytes are UTF-8, found a piece at a time. */
export function* isUtf8InPieces(bytes: Buffer): Generator<void, boolean> {
  for (let from = 0; from < bytes.length; yield) {
    const to = startOfCharacter(bytes, from + PIECE_BYTES)
    if (!isUtf8(bytes.subarray(from, to))) return false
    from = to
  }
  return true
}

/** Where the character begins that a byte is of, at most three bytes before it. */
function startOfCharacter(bytes: Buffer, at: number) {
  if (at >= bytes.length) return bytes.length
  let start = at
  while (at - start < 3 && ((bytes[start] as number) & 0xc0) === 0x80) start--
  return start
}

const PIECE_BYTES = 1 << 20
