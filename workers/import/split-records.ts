import type { Container } from './containers.ts'
import { UploadFault } from './upload-fault.ts'

/** A place between two records. */
export interface Place {
  /** Bytes before it, after inflation. */
  readonly offset: number
  /** Lines, or records where they are not one a line, before it. */
  readonly line: number
}

/** What a splitter finds; `after` is the place behind it. */
export type Found =
  | { readonly kind: 'record'; readonly bytes: Buffer; readonly after: Place }
  | {
      readonly kind: 'fault'
      readonly code: string
      readonly message: string
      readonly after: Place
    }
  /** Nothing but blank lines up to here. */
  | { readonly kind: 'blank'; readonly after: Place }

export interface Splitter {
  /** Takes the next bytes, however they are cut, and gives what ends in them. */
  push(bytes: Buffer): Iterable<Found>
  /** Says that there are no more bytes. @throws UploadFault when that is not where the file should end */
  end(): Iterable<Found>
}

/**
 * Cuts the bytes of a file into records, in memory bounded by `MAX_RECORD_BYTES` whatever the bytes
 * are. Records are not checked beyond where they end.
 */
export function openSplitter(container: Container, from: Place): Splitter {
  return container === 'lines' ? splitLines(from) : splitValues(container, from)
}

function splitLines({ offset, line }: Place): Splitter {
  let carry: Buffer = EMPTY
  let skipping = false

  function* close(bytes: Buffer, after: Place): Generator<Found> {
    if (skipping || bytes.length > MAX_RECORD_BYTES) yield { kind: 'fault', ...TOO_LONG, after }
    else if (isBlank(bytes)) yield { kind: 'blank', after }
    else yield { kind: 'record', bytes, after }
    skipping = false
  }

  return {
    *push(bytes) {
      let start = 0
      for (let end; (end = bytes.indexOf(NEWLINE, start)) >= 0; start = end + 1) {
        const whole = join(carry, bytes.subarray(start, end))
        carry = EMPTY
        offset += whole.length + 1
        line++
        yield* close(whole, { offset, line })
      }
      carry = join(carry, bytes.subarray(start))
      if (carry.length > MAX_RECORD_BYTES || skipping) {
        skipping = true
        offset += carry.length
        carry = EMPTY
      }
    },
    *end() {
      if (carry.length === 0 && !skipping) return
      offset += carry.length
      line++
      yield* close(carry, { offset, line })
    },
  }
}

/**
 * Finds the ends of JSON values by their brackets, outside of strings. Commas between values are
 * passed over like white space. Behind the closing bracket of the list nothing more is read.
 */
function splitValues(container: Container, { offset, line }: Place): Splitter {
  let carry: Buffer = EMPTY
  let state: 'between' | 'value' | 'closed' = 'between'
  let depth = 0
  let inString = false
  let escaped = false
  let skipping = false
  let trailing = false

  /** Index behind the value that goes on at `i`, or -1 when the data ends first. */
  function findEnd(data: Buffer, i: number) {
    for (; i < data.length; i++) {
      const byte = data[i] as number
      if (inString) {
        if (escaped) escaped = false
        else if (byte === BACKSLASH) escaped = true
        else if (byte === QUOTE) {
          inString = false
          if (depth === 0) return i + 1
        }
      } else if (byte === QUOTE) inString = true
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
      else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (depth === 0) return i
        if (--depth === 0) return i + 1
      } else if (depth === 0 && (byte === COMMA || isSpace(byte))) return i
    }
    return -1
  }

  /** Index of the next value's first byte, or the end of the data. */
  function findStart(data: Buffer, i: number) {
    for (; i < data.length; i++) {
      const byte = data[i] as number
      if (isSpace(byte) || (byte === COMMA && state === 'between')) continue
      if (state === 'closed') {
        // What an object holds besides its traces is of no interest.
        trailing ||= container !== 'envelope'
        return data.length
      }
      if (byte !== CLOSE_BRACKET || container === 'values') return i
      state = 'closed'
    }
    return i
  }

  function* close(bytes: Buffer, after: Place): Generator<Found> {
    if (skipping || bytes.length > MAX_RECORD_BYTES) yield { kind: 'fault', ...TOO_LONG, after }
    else yield { kind: 'record', bytes, after }
  }

  return {
    *push(bytes) {
      const data = join(carry, bytes)
      let start = 0
      let i = carry.length
      for (;;) {
        if (state !== 'value') {
          start = i = findStart(data, i)
          if (i === data.length) break
          state = 'value'
        }
        const end = findEnd(data, i)
        if (end < 0) break
        // A stray closing bracket is a value of its own, so that reading goes on.
        i = end === start && !skipping ? end + 1 : end
        line++
        yield* close(data.subarray(start, i), { offset: offset + i, line })
        state = 'between'
        skipping = false
      }
      const kept = state === 'value' && !skipping ? data.length - start : 0
      if (kept > MAX_RECORD_BYTES) skipping = true
      carry = skipping || kept === 0 ? EMPTY : data.subarray(start)
      offset += data.length - carry.length
    },
    *end() {
      const after = { offset: offset + carry.length, line: line + 1 }
      const bare = state === 'value' && depth === 0 && !inString && container === 'values'
      if (trailing)
        throw new UploadFault('trailing_content', 'Something follows the end of the JSON')
      if (bare && !skipping) yield { kind: 'record', bytes: carry, after }
      else if (state === 'value' || (state === 'between' && container !== 'values')) {
        throw new UploadFault('truncated', 'The file ends before its JSON does')
      }
    },
  }
}

function join(carry: Buffer, bytes: Buffer) {
  return carry.length === 0 ? bytes : Buffer.concat([carry, bytes])
}

function isBlank(bytes: Buffer) {
  for (const byte of bytes) if (!isSpace(byte)) return false
  return true
}

function isSpace(byte: number) {
  return byte === 0x20 || byte === NEWLINE || byte === 0x0d || byte === 0x09
}

/** Longer records are not read. */
export const MAX_RECORD_BYTES = 16 << 20
const TOO_LONG = { code: 'too_long', message: 'The record is larger than 16 MiB' }

const EMPTY = Buffer.alloc(0)
const NEWLINE = 0x0a
const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
