import { isUtf8 } from 'node:buffer'
import { isTooDeep, MAX_DEPTH } from '../../jobs/rules/core/depth.ts'
import { findJsonFault, nameJsonFault } from '../../jobs/rules/core/json-fault.ts'
import { detectFormat, formats } from '../../jobs/rules/import/detect.ts'
import type { FormatName } from '../../jobs/rules/import/detect.ts'
import type { Members, Refusal } from '../../jobs/rules/import/format.ts'
import type { ReadRecord } from '../../jobs/rules/import/read-record.ts'
import { readRecord } from '../../jobs/rules/import/read-record.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { describeFault, isObject } from '../../jobs/rules/core/reader.ts'
import type { Fault } from '../../jobs/rules/core/reader.ts'
import type { CopyRows } from '../../sql/core/copy-rows.ts'
import type { TraceScore } from '../../sql/evals/eval-scores.ts'
import { encodeTraces } from '../../sql/traces/trace-copy.ts'
import { measureJson } from './measure-json.ts'
import type { Chunk } from './read-chunks.ts'
import type { LineFault } from './upload-fault.ts'

/** What holds for all records of an import. */
export interface ImportSettings {
  readonly orgId: string
  readonly projectId: string
  /** The only format to accept; null detects the format of each record. */
  readonly format: FormatName | null
  readonly agentName: string | null
  readonly now: Date
  /** Records are checked and not stored. */
  readonly dryRun: boolean
}

/** Records of a chunk that are JSON objects of a known format. */
export interface ParsedChunk {
  readonly candidates: readonly Candidate[]
  readonly faults: readonly LineFault[]
  /** Whether any record was JSON. */
  readonly readable: boolean
}

/** A chunk ready to be stored. */
export interface EncodedChunk {
  /** Empty in a dry run. */
  readonly rows: CopyRows
  /** Id and line of each trace, in the order of the rows. */
  readonly traceIds: readonly string[]
  readonly lines: readonly number[]
  readonly scores: readonly TraceScore[]
  /** What could not be kept of a trace. */
  readonly losses: readonly TraceLoss[]
  readonly skipped: number
  readonly faults: readonly LineFault[]
}

/** Parses the records only as far as it takes to know their trace ids. */
export function parseChunk(
  { bytes, ends, lines }: Pick<Chunk, 'bytes' | 'ends' | 'lines'>,
  settings: ImportSettings,
): ParsedChunk {
  const candidates: Candidate[] = []
  const faults: LineFault[] = []
  let readable = false
  const records = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  lines.forEach((line, i) => {
    const parsed = parseRecord(records.subarray(ends[i - 1] ?? 0, ends[i]))
    readable ||= !('code' in parsed) || !UNREADABLE.has(parsed.code)
    if ('code' in parsed) faults.push({ line, ...parsed })
    else {
      const candidate = identify(line, parsed.record, settings)
      if ('code' in candidate) faults.push(candidate)
      else candidates.push(candidate)
    }
  })
  return { candidates, faults, readable }
}

/**
 * Checks the traces that are not known yet and makes rows of them. Of a record that stands for several
 * all are stored or none.
 */
export function encodeChunk(
  { candidates }: ParsedChunk,
  known: ReadonlySet<string>,
  settings: ImportSettings,
): EncodedChunk {
  const seen = new Set(known)
  const rows: TraceRow[] = []
  const traceIds: string[] = []
  const lines: number[] = []
  const scores: TraceScore[] = []
  const losses: TraceLoss[] = []
  const faults: LineFault[] = []
  let skipped = 0
  for (const { line, format, records } of candidates) {
    const unseen = records.filter(({ key }) => !seen.has(key))
    skipped += records.length - unseen.length
    const read = unseen.map(({ record, traceId }) =>
      readRecord(record, formats[format], { ...settings, traceId }),
    )
    const fault = read.find((each) => 'faults' in each)
    if (fault) {
      faults.push({ line, code: 'invalid_record', message: sentenceOf(fault.faults) })
      continue
    }
    for (const [i, { trace, ...found }] of (read as ReadRecord[]).entries()) {
      const { key } = unseen[i] as CandidateRecord
      seen.add(key)
      traceIds.push(key)
      lines.push(line)
      if (!settings.dryRun) rows.push(toTraceRow(trace))
      for (const score of found.scores) scores.push({ ...score, trace_id: key })
      for (const code of found.losses) losses.push({ code, trace_id: key })
    }
  }
  return {
    rows: encodeTraces(settings.orgId, settings.projectId, rows),
    traceIds,
    lines,
    scores,
    losses,
    skipped,
    faults,
  }
}

function parseRecord(bytes: Buffer): { record: Members } | Refusal {
  if (!isUtf8(bytes)) return { code: 'invalid_utf8', message: 'The record is not UTF-8' }
  // A text of little else than brackets takes many times its own memory once it is parsed.
  if (bytes.length > MEASURED_BYTES) {
    const { depth, values } = measureJson(bytes)
    if (depth > MAX_DEPTH) return TOO_DEEP
    if (values > MAX_VALUES) {
      return { code: 'too_many_values', message: 'The record holds more than a million values' }
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

function identify(line: number, record: Members, settings: ImportSettings): Candidate | LineFault {
  const format = settings.format ?? detectFormat(record)
  if (!format || !formats[format].matches(record)) return { line, ...UNKNOWN_FORMAT }
  const records = formats[format].split?.(record) ?? [record]
  if ('code' in records) return { line, ...records }
  return {
    line,
    format,
    records: records.map((each) => {
      const traceId = formats[format].traceIdOf(each)
      return { record: each, traceId, key: keyOf(traceId) }
    }),
  }
}

/** The text an id is stored as; '' for a value that cannot be an id: the check of the record refuses it. */
function keyOf(traceId: unknown) {
  const text = typeof traceId === 'number' ? String(traceId) : traceId
  return typeof text === 'string' && text.isWellFormed() && !text.includes('\0') ? text : ''
}

function sentenceOf(faults: readonly Fault[]) {
  const shown = faults.slice(0, SHOWN_FAULTS).map(describeFault)
  const more = faults.length - shown.length
  return cut(shown.join('; ') + (more > 0 ? ` (and ${more} more)` : ''))
}

function cut(message: string) {
  return message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE - 1)}…` : message
}

interface Candidate {
  readonly line: number
  readonly format: FormatName
  /** Each of them one trace. */
  readonly records: readonly CandidateRecord[]
}
interface CandidateRecord {
  readonly record: Members
  readonly traceId: unknown
  readonly key: string
}
export interface TraceLoss {
  readonly trace_id: string
  readonly code: string
}

const MAX_VALUES = 1_000_000
/** Records up to this size are parsed without being measured first. */
const MEASURED_BYTES = 1 << 20
const SHOWN_FAULTS = 3
const MAX_MESSAGE = 500
const UNREADABLE = new Set(['invalid_json', 'invalid_utf8'])
const TOO_DEEP = {
  code: 'too_deep',
  message: `The record is nested deeper than ${MAX_DEPTH} levels`,
}
const UNKNOWN_FORMAT = {
  code: 'unknown_format',
  message:
    'The record is no trace (agent_name, llm_calls or spans), no chat (messages) and no tau-bench trial (traj)',
}
