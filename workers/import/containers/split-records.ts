import type { Container, TextContainer } from '../../../jobs/rules/import/container.ts'
import { isSpace, NEWLINE } from '../../../jobs/rules/core/json-bytes.ts'
import { openScanner, truncated } from './scan-values.ts'

/** A position between two records. */
export interface Position {
  /** How many bytes are before it, after inflation. */
  readonly offset: number
  /** How many lines are before it, or records where they are not one a line. */
  readonly line: number
}

/** Where to begin, and in which container the records are from there on. */
export interface Start extends Position {
  readonly container: Container
}

/** What is found in a file; `after` is the position after it. */
export type Found =
  | { readonly kind: 'record'; readonly bytes: Buffer; readonly after: Position }
  | {
      readonly kind: 'fault'
      readonly code: string
      readonly message: string
      readonly after: Position
    }
  /** Something that is not read, and is no fault of the file. */
  | { readonly kind: 'loss'; readonly code: ReaderLoss; readonly after: Position }
  /** Nothing but blank lines up to here. */
  | { readonly kind: 'blank'; readonly after: Position }

/** What readers leave out: entries of archives that hold no records, files that are attached to runs. */
export type ReaderLoss = 'entries_skipped' | 'attachment_dropped'

export interface Splitter {
  /** Takes the next bytes, wherever they are cut, and yields what ends in them. Keeps nothing but copies of them. */
  push(bytes: Buffer): Iterable<Found>
  /** Where an envelope has ended, and what of the bytes last pushed comes after it. */
  rest(): { readonly bytes: Buffer; readonly from: Position } | undefined
  /** Call it when there are no more bytes. @throws UploadFault when the file should not end here */
  end(): Iterable<Found>
}

/**
 * Cuts the bytes of a file into records. `MAX_RECORD_BYTES` bounds the memory, whatever the bytes are.
 * Only the ends of records are looked for; the records are not checked.
 */
export function openSplitter(container: TextContainer, from: Position): Splitter {
  return container === 'lines' ? splitLines(from) : splitValues(container, from)
}

function splitLines({ offset, line }: Position): Splitter {
  let carry: Buffer = EMPTY
  let skipping = false

  function* close(bytes: Buffer, after: Position): Generator<Found> {
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
      carry = Buffer.concat([carry, bytes.subarray(start)])
      if (carry.length > MAX_RECORD_BYTES || skipping) {
        skipping = true
        offset += carry.length
        carry = EMPTY
      }
    },
    rest: () => undefined,
    *end() {
      if (carry.length === 0 && !skipping) return
      offset += carry.length
      line++
      yield* close(carry, { offset, line })
    },
  }
}

function splitValues(container: TextContainer, { offset, line }: Position): Splitter {
  const scanner = openScanner(container)
  let carry: Buffer = EMPTY
  let rest: Buffer | undefined
  let skipping = false

  function close(bytes: Buffer, after: Position): Found {
    const isTooLong = skipping || bytes.length > MAX_RECORD_BYTES
    skipping = false
    return isTooLong ? { kind: 'fault', ...TOO_LONG, after } : { kind: 'record', bytes, after }
  }

  return {
    *push(bytes) {
      const data = join(carry, bytes)
      let start = 0
      let i = carry.length
      for (;;) {
        if (!scanner.isInValue()) {
          start = i = scanner.findStart(data, i)
          if (scanner.isEnded()) {
            rest = data.subarray(i)
            carry = EMPTY
            offset += i
            return
          }
          if (i === data.length) break
        }
        const end = scanner.findEnd(data, i)
        if (end < 0) break
        // A stray closing bracket counts as a value of its own, so that reading goes on.
        i = end === start && !skipping ? end + 1 : end
        line++
        yield close(data.subarray(start, i), { offset: offset + i, line })
      }
      const kept = scanner.isInValue() && !skipping ? data.length - start : 0
      if (kept > MAX_RECORD_BYTES) skipping = true
      carry = skipping || kept === 0 ? EMPTY : Buffer.from(data.subarray(start))
      offset += data.length - carry.length
    },
    rest: () => rest && { bytes: rest, from: { offset, line } },
    *end() {
      const isValue = scanner.end()
      const after = { offset: offset + carry.length, line: line + 1 }
      if (isValue && !skipping) yield { kind: 'record', bytes: carry, after }
      else if (isValue) throw truncated()
    },
  }
}

/** The bytes with what was left of those before them. */
export function join(carry: Buffer, bytes: Buffer) {
  return carry.length === 0 ? bytes : Buffer.concat([carry, bytes])
}

function isBlank(bytes: Buffer) {
  for (const byte of bytes) if (!isSpace(byte)) return false
  return true
}

/** Longer records are not read. */
export const MAX_RECORD_BYTES = 16 << 20
export const TOO_LONG = { code: 'too_long', message: 'The record is larger than 16 MiB' }

const EMPTY = Buffer.alloc(0)
