import { isUtf8 } from 'node:buffer'
import { isTooDeep, MAX_DEPTH } from '../../jobs/rules/core/depth.ts'
import { findJsonFault, nameJsonFault } from '../../jobs/rules/core/json-fault.ts'
import { chooseFormat, formats, hasParts } from '../../jobs/rules/import/detect.ts'
import type { FormatName } from '../../jobs/rules/import/detect.ts'
import type { Format, Loss, Members, PartsFormat, Refusal } from '../../jobs/rules/import/format.ts'
import { describeFault, isObject, reader } from '../../jobs/rules/core/reader.ts'
import type { Fault } from '../../jobs/rules/core/reader.ts'
import { isStorableText } from '../../jobs/rules/core/storable.ts'
import { measureJson } from './containers/measure-json.ts'
import type { Chunk } from './containers/read-chunks.ts'
import type { FoundPart } from './stage-parts.ts'
import type { LineFault } from './containers/upload-fault.ts'

/** Records of a chunk that are JSON objects of a known format. */
export interface ParsedChunk {
  /** In the order of the chunk, but for those that were taken. */
  readonly candidates: readonly Candidate[]
  readonly faults: readonly LineFault[]
  /** Format of the first record that has one. */
  readonly format: FormatName | undefined
  /** Whether any record was JSON. */
  readonly readable: boolean
}

/** A record of which only the format and the ids of its traces are known. */
export type Candidate = WholeRecord | PartsRecord

/** A record that stands for whole traces. */
export interface WholeRecord {
  readonly line: number
  readonly name: FormatName
  readonly format: Format
  /** Each of them one trace. */
  readonly traces: readonly WholeTrace[]
}

export interface WholeTrace {
  readonly record: Members
  /** As the record says it, which may be of any type. */
  readonly traceId: unknown
  /** The text it is stored as. */
  readonly key: string
}

/** A record that holds pieces of traces. */
export interface PartsRecord {
  readonly line: number
  readonly name: FormatName
  readonly parts: readonly FoundPart[]
  /** What of it belongs to no trace. */
  readonly losses: readonly Loss[]
}

/**
 * Parses the records only as far as it takes to know their trace ids.
 * @param asked the only format to accept; null detects the format of each record
 * @param take is given each record of whole traces as soon as it is parsed, and returns whether it took it; one
 * that was taken is no candidate
 */
export function parseChunk(
  { bytes, ends, lines }: Pick<Chunk, 'bytes' | 'ends' | 'lines'>,
  asked: FormatName | null,
  take: (record: WholeRecord) => boolean = () => false,
): ParsedChunk {
  const candidates: Candidate[] = []
  const faults: LineFault[] = []
  let format: FormatName | undefined
  let readable = false
  const records = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  lines.forEach((line, i) => {
    const parsed = parseRecord(records.subarray(ends[i - 1] ?? 0, ends[i]))
    readable ||= !('code' in parsed) || !UNREADABLE.has(parsed.code)
    const candidate = 'code' in parsed ? { line, ...parsed } : identify(line, parsed.record, asked)
    if ('code' in candidate) {
      faults.push(candidate)
      return
    }
    format ??= candidate.name
    const isTaken = 'traces' in candidate && take(candidate)
    if (!isTaken) candidates.push(candidate)
  })
  return { candidates, faults, format, readable }
}

/** @param maxValues most values that the record may hold */
export function parseRecord(bytes: Buffer, maxValues = MAX_VALUES): { record: Members } | Refusal {
  if (!isUtf8(bytes)) return { code: 'invalid_utf8', message: 'The record is not UTF-8' }
  // A text of little else than brackets takes many times its own memory once it is parsed.
  if (bytes.length > MEASURED_BYTES) {
    const { depth, values } = measureJson(bytes)
    if (depth > MAX_DEPTH) return TOO_DEEP
    if (values > maxValues) {
      const message = `The record holds more than ${maxValues.toLocaleString('en')} values`
      return { code: 'too_many_values', message }
    }
  }
  const text = bytes.toString()
  let record: unknown
  try {
    record = JSON.parse(text)
  } catch {
    return { code: 'invalid_json', message: malformed(text) }
  }
  if (!isObject(record)) return { code: 'not_an_object', message: 'The record is no JSON object' }
  return isTooDeep(record) ? TOO_DEEP : { record }
}

function malformed(text: string) {
  const fault = findJsonFault(text)
  if (!fault) return 'The record is not well-formed JSON'
  const { line, column } = fault
  const at = line === 1 ? `column ${column}` : `its line ${line}, column ${column}`
  return `The record is not well-formed JSON: ${nameJsonFault(fault)} at ${at}`
}

function identify(line: number, record: Members, asked: FormatName | null): Candidate | LineFault {
  const chosen = chooseFormat(record, asked)
  if ('code' in chosen) return { line, ...chosen }
  const { name } = chosen
  const format = formats[name]
  return hasParts(format)
    ? readParts({ line, name }, format, record)
    : readWhole({ line, name }, format, record)
}

function readWhole(place: RecordPlace, format: Format, record: Members): WholeRecord | LineFault {
  const records = format.split?.(record) ?? [record]
  if ('code' in records) return { line: place.line, ...records }
  const traces = records.map((each) => {
    const traceId = format.traceIdOf(each)
    return { record: each, traceId, key: keyOf(traceId) }
  })
  return { ...place, format, traces }
}

/** The text an id is stored as; '' for a value that cannot be an id: the check of the record refuses it. */
function keyOf(traceId: unknown) {
  const text = typeof traceId === 'number' ? String(traceId) : traceId
  return isStorableText(text) ? text : ''
}

function readParts(
  place: RecordPlace,
  format: PartsFormat,
  record: Members,
): PartsRecord | LineFault {
  const read = format.read(record)
  if ('code' in read) return { line: place.line, ...read }
  const faults: Fault[] = []
  const all = [...read.parts, ...(read.spanScores ?? [])]
  for (const part of all) {
    if (faults.length > 0) break
    reader(part, '', faults)?.id(part.trace_id === null ? 'span_id' : 'trace_id')
  }
  const [fault] = faults
  if (fault) return { line: place.line, code: 'invalid_record', message: describeFault(fault) }
  const parts = all.map((part) => ({ format: place.name, line: place.line, part }))
  return { ...place, parts, losses: read.losses }
}

const MAX_VALUES = 1_000_000
/** Records up to this size are parsed without being measured first. */
const MEASURED_BYTES = 1 << 20
const UNREADABLE = new Set(['invalid_json', 'invalid_utf8'])
const TOO_DEEP = {
  code: 'too_deep',
  message: `The record is nested deeper than ${MAX_DEPTH} levels`,
}

type RecordPlace = Pick<WholeRecord, 'line' | 'name'>
