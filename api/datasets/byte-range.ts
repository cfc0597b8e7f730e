/** Bytes `start` to `end` exclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * The range of `size` bytes that a `Range` header asks for. Undefined stands for all bytes, also where the
 * header asks for several ranges or for no range of bytes; `unsatisfiable` for a range past the end (416).
 */
export function readRange(
  header: string | undefined,
  size: number,
): ByteRange | undefined | 'unsatisfiable' {
  const match = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? '')
  const [, first = '', last = ''] = match ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size }
  }
  const start = Number(first)
  const end = last === '' ? size : Math.min(Number(last) + 1, size)
  if (last !== '' && Number(last) < start) return undefined
  return start >= size ? 'unsatisfiable' : { start, end }
}
