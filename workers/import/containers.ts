import { isUtf8 } from 'node:buffer'
import { UploadFault } from './upload-fault.ts'

/**
 * How records follow one another in a file.
 * - `lines`: one a line.
 * - `array`: elements of one JSON array.
 * - `envelope`: elements of the array `traces` of one JSON object.
 * - `values`: JSON values one after another, each over several lines, as pretty-printers write them.
 */
export type Container = 'lines' | 'array' | 'envelope' | 'values'

/** Bytes of a file's beginning that `detectContainer` wants to see, as far as there are so many. */
export const HEAD_BYTES = 64 << 10

/**
 * The container of a file by its beginning, and the offset at which its first record may begin.
 * @throws UploadFault for what is no text
 */
export function detectContainer(head: Buffer): { container: Container; offset: number } {
  const start = head.subarray(0, 3).equals(BOM) ? BOM.length : 0
  // One character a byte, so that positions in the text are positions in the file.
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
  // The last character may be cut: it has at most three of its bytes here.
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
/** An object whose member `traces` is a list, with only simple members before it. */
const ENVELOPE =
  /^\s*\{\s*(?:"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-\d.eE+]+|true|false|null)\s*,\s*)*"traces"\s*:\s*\[/
