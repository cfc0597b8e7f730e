import { createHash } from 'node:crypto'
import { isObject } from './reader.ts'

/**
 * SHA-256 over a JSON value, whatever the order of the members of its objects. It yields after each piece
 * of about `PIECE` characters, so that the caller can do other things between them.
 */
export function* hashInPieces(value: unknown): Generator<void, Buffer> {
  const hash = createHash('sha256')
  let piece = ''
  for (const part of partsOf(value)) {
    piece += part
    if (piece.length < PIECE) continue
    hash.update(piece)
    piece = ''
    yield
  }
  return hash.update(piece).digest()
}

function* partsOf(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    yield '['
    for (const item of value) {
      yield* partsOf(item)
      yield ','
    }
    yield ']'
  } else if (isObject(value)) {
    yield '{'
    for (const name of Object.keys(value).sort()) {
      yield `${JSON.stringify(name)}:`
      yield* partsOf(value[name])
      yield ','
    }
    yield '}'
  } else yield JSON.stringify(value) ?? 'null'
}

const PIECE = 64 << 10
