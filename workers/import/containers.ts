import { isUtf8 } from 'node:buffer'
import type { Container } from '../../jobs/rules/import/container.ts'
import { UploadFault } from './upload-fault.ts'

/** How many bytes of a file's start `detectContainer` needs; it takes a shorter file whole. */
export const HEAD_BYTES = 64 << 10

/**
 * Detects the container of a file from its start, and the offset at which its first record may begin.
 * @throws UploadFault when the file is not text
 */
export function detectContainer(head: Buffer): { container: Container; offset: number } {
  const start = head.subarray(0, 3).equals(BOM) ? BOM.length : 0
  // In latin1 each byte is one character, so offsets in the text are offsets in the file.
  const text = head.toString('latin1', start)
  const first = /[^\s]/.exec(text)?.[0]
  if (first === '[') return { container: 'array', offset: start + text.indexOf('[') + 1 }
  if (first !== '{') refuseBinary(head)
  const envelope = ENVELOPE.exec(text)
  if (envelope) return { container: 'envelope', offset: start + envelope[0].length }
  if (/^\s*\{[ \t]*\r?\n/.test(text)) return { container: 'values', offset: start }
  return { container: 'lines', offset: start }
}

function refuseBinary(head: Buffer) {
  if (isGzip(head)) throw new UploadFault('nested_gzip', 'The file is gzip inside gzip')
  // The last character may be cut off, with at most three of its bytes here.
  const whole = [0, 1, 2, 3].some((cut) => isUtf8(head.subarray(0, head.length - cut)))
  if (head.includes(0) || !whole) {
    throw new UploadFault(
      'not_text',
      'The file is neither JSON text in UTF-8 nor gzip of such text',
    )
  }
}

export function isGzip(head: Uint8Array) {
  return head[0] === 0x1f && head[1] === 0x8b
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf])
/** Matches an object up to its list `traces`, when only simple members come before it. */
const ENVELOPE =
  /^\s*\{\s*(?:"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-\d.eE+]+|true|false|null)\s*,\s*)*"traces"\s*:\s*\[/
