import { isUtf8 } from 'node:buffer'
import { RECORD_LISTS } from '../../../jobs/rules/import/container.ts'
import type { Container, TextContainer } from '../../../jobs/rules/import/container.ts'
import { beginsAsCsv } from './csv-rows.ts'
import { isGzip } from './inflate.ts'
import { namesOf } from './member-names.ts'
import { UploadFault } from './upload-fault.ts'

/** How many bytes of a file's start `detectContainer` needs; it takes a shorter file whole. */
export const HEAD_BYTES = 64 << 10

/**
 * Detects the container of a file from its start, and the offset at which its first record may begin.
 * @param format the only one that is expected; CSV is read where it has any
 * @throws UploadFault when the file is not text, and nothing that is converted to it
 */
export function detectContainer(
  start: Buffer,
  format: string | null = null,
): { container: Container; offset: number } {
  const head = start.subarray(0, HEAD_BYTES)
  if (head.toString('latin1', 0, PARQUET.length) === PARQUET) return whole('parquet')
  if (head.toString('latin1', USTAR_AT, USTAR_AT + USTAR.length) === USTAR) return whole('tar')
  if (isProtobuf(head)) return whole('protobuf')
  if (MULTIPART.test(head.toString('latin1', 0, MULTIPART_BYTES))) return whole('multipart')
  if (!/^\s*[[{]/.test(textOf(head))) {
    refuseBinary(head)
    if (format && CSV_FORMATS.includes(format) && beginsAsCsv(head)) return whole('csv')
  }
  return detectText(head)
}

/** The same for what is JSON text, or the part of a text that follows an envelope. */
export function detectText(head: Buffer): { container: TextContainer; offset: number } {
  const start = bomLength(head)
  const text = textOf(head)
  const first = /[^\s]/.exec(text)?.[0]
  if (first === '[') return { container: 'array', offset: start + text.indexOf('[') + 1 }
  const envelope = ENVELOPE.exec(text)
  if (envelope && isEnvelope(text, envelope)) {
    return { container: 'envelope', offset: start + envelope[0].length }
  }
  if (/^\s*\{[ \t]*\r?\n/.test(text)) return { container: 'values', offset: start }
  return { container: 'lines', offset: start }
}

/** Whether a file begins with spans of OpenTelemetry, as collectors write them: a request a line. */
export function beginsAsRequest(head: Buffer) {
  return REQUEST_LISTS.includes(ENVELOPE.exec(textOf(head))?.[2] ?? '')
}

/** In latin1 each byte is one character, so offsets in the text are offsets in the file. */
function textOf(head: Buffer) {
  return head.toString('latin1', bomLength(head), HEAD_BYTES)
}

/** Bytes of the mark that may precede text in UTF-8. */
export function bomLength(head: Buffer) {
  return head.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0
}

function whole(container: Container) {
  return { container, offset: 0 }
}

/**
 * Whether a list holds records, and is not itself a member of a record: traces have `spans` too. The
 * spans of several traces each name theirs.
 */
function isEnvelope(text: string, [matched, before = '', list]: RegExpExecArray) {
  const first = /^\s*(\S?)/.exec(text.slice(matched.length))?.[1] ?? ''
  if (list === 'traces') return true
  if (list !== 'spans') return first === '{' || first === ']' || first === ''
  if (/"(?:trace_id|id|agent_name)"\s*:/.test(before)) return false
  return namesOf(text, matched.length).some((name) => TRACE_OF_SPAN.includes(name))
}

/** A protobuf message begins with the tag of its first member, which in text is a line break. */
function isProtobuf(head: Buffer) {
  return head[0] === RESOURCE_SPANS_TAG && (CONTROLS.test(textOf(head)) || !isText(head))
}

function refuseBinary(head: Buffer) {
  if (isGzip(head)) throw new UploadFault('nested_gzip', 'The file is gzip inside gzip')
  if (head.includes(0) || !isText(head)) {
    throw new UploadFault(
      'not_text',
      'The file is neither JSON text in UTF-8 nor anything else that can be imported, nor gzip of it',
    )
  }
}

/** The last character may be cut off, with at most three of its bytes here. */
function isText(head: Buffer) {
  return [0, 1, 2, 3].some((cut) => isUtf8(head.subarray(0, head.length - cut)))
}

/** Formats that are also written as CSV; other text could be taken for it. */
const CSV_FORMATS: readonly string[] = ['langfuse']
const BOM = Buffer.from([0xef, 0xbb, 0xbf])
const PARQUET = 'PAR1'
const USTAR = 'ustar'
const USTAR_AT = 257
const RESOURCE_SPANS_TAG = 0x0a
/** Characters that JSON text never has. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f]/
/** A boundary is at most 70 characters long. */
const MULTIPART = /^--[^\r\n]{1,70}\r\n(?:[\w-]+:[^\r\n]*\r\n)*?content-disposition:/i
const MULTIPART_BYTES = 4096
/** Matches an object up to a list of records, when only simple members come before it. */
const ENVELOPE = new RegExp(
  String.raw`^\s*\{\s*((?:"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-\d.eE+]+|true|false|null)\s*,\s*)*)"(${RECORD_LISTS.join('|')})"\s*:\s*\[`,
)
/** The list of a request, in JSON's name and in that of protobuf. */
const REQUEST_LISTS = ['resourceSpans', 'resource_spans']
const TRACE_OF_SPAN = ['trace_id', 'traceId', 'context', 'dotted_order']
