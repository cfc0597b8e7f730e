import { isObject } from '../../../jobs/rules/core/reader.ts'
import type { Members, Refusal } from '../../../jobs/rules/import/format.ts'
import type { KindName } from '../../../jobs/rules/import/backup/lines.ts'
import { isKindName, readLine } from '../../../jobs/rules/import/backup/read-line.ts'
import {
  restoreRevision,
  restoreTrace,
} from '../../../jobs/rules/import/backup/restored-content.ts'
import type { ContentForm } from '../../../jobs/rules/traces/content.ts'
import type { CopyRows } from '../../../sql/core/copy-rows.ts'
import { openTraceEncoder } from '../../../sql/import/restored-traces.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import { sentenceOf } from '../fault-sentence.ts'
import { parseRecord } from '../parse-chunk.ts'
import type { BackupChunk } from './backup-chunks.ts'

/** What holds for all lines of a restore. */
export interface LineSettings {
  readonly orgId: string
  /** Whether lines of all kinds are taken; else traces and scores. */
  readonly isAdmin: boolean
  readonly contentForm: ContentForm
}

/** The lines of a chunk that have the shape of their kind. */
export interface ParsedLines {
  /** In the order of the file. */
  readonly entries: readonly Entry[]
  readonly faults: readonly LineFault[]
  /** Of the traces among the entries. */
  readonly traces: CopyRows
  /** How many lines of each kind came, whether they are faulty or not. */
  readonly counts: Readonly<Partial<Record<string, number>>>
  /** Whether the first line of the file is the first of a backup of a format that is known. */
  readonly hasHeader: boolean
  /** The last line of the backup. */
  readonly end: EndLine | undefined
}

/** A line with something that may be stored. */
export interface Entry {
  readonly line: number
  readonly kind: KindName
  /** By column where that is made of the content, else by member. */
  readonly values: Readonly<Record<string, unknown>>
  /** Of a trace: which of the encoded ones it is; null for a faulty one. */
  readonly place?: number | null
}

export interface EndLine {
  readonly line: number
  readonly offset: number
  readonly counts: Readonly<Record<string, number>>
  readonly sha256: string
}

/** Parses and checks lines, and encodes the traces among them. */
export function parseLines(
  { bytes, ends, lines, starts }: Pick<BackupChunk, 'bytes' | 'ends' | 'lines' | 'starts'>,
  settings: LineSettings,
): ParsedLines {
  const entries: Entry[] = []
  const faults: LineFault[] = []
  const counts: Record<string, number> = {}
  const encoder = openTraceEncoder(settings.orgId)
  let traceCount = 0
  let hasHeader = false
  let end: EndLine | undefined
  const texts = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const [i, line] of lines.entries()) {
    const parsed = parseRecord(texts.subarray(ends[i - 1] ?? 0, ends[i]), MAX_VALUES)
    if ('code' in parsed) {
      faults.push({ line, ...parsed })
      continue
    }
    const { record } = parsed
    const name = record['kind']
    if (end) faults.push({ line, ...AFTER_END })
    else if (name === 'backup' && line === 1) hasHeader = record['format'] === 1
    else if (name === 'end') {
      const read = readEnd(record)
      if (read) end = { ...read, line, offset: starts[i] as number }
      else faults.push({ line, ...BAD_END })
    } else if (!isKindName(name)) faults.push({ line, ...UNKNOWN_KIND })
    else {
      counts[name] = (counts[name] ?? 0) + 1
      const found = readEntry(name, record, settings)
      if (found.fault) faults.push({ line, ...found.fault })
      if (found.row) encoder.add(found.project, found.row)
      const place = found.row ? traceCount++ : null
      if (found.values)
        entries.push({ line, kind: name, values: found.values, ...(name === 'trace' && { place }) })
    }
  }
  return { entries, faults, traces: encoder.take(), counts, hasHeader, end }
}

/** A faulty trace is an entry all the same: the lines after it are about it. */
function readEntry(name: KindName, record: Members, { isAdmin, contentForm }: LineSettings): Read {
  if (!isAdmin && !OPEN_KINDS.has(name)) return { fault: FORBIDDEN_KIND }
  const read = readLine(name, record)
  if ('code' in read) return { fault: read, ...(name === 'trace' && { values: keyOf(record) }) }
  const { values } = read
  if (name === 'trace') {
    const restored = restoreTrace(values, record, contentForm)
    const key = keyOf(values)
    if (key && !('faults' in restored)) {
      return { values: key, project: key.project, row: restored }
    }
    return { fault: invalid('faults' in restored ? restored.faults : []), values: key }
  }
  if (name !== 'revision') return { values }
  const restored = restoreRevision(values, record, contentForm)
  return 'faults' in restored
    ? { fault: invalid(restored.faults) }
    : { values: { ...values, ...restored } }
}

function invalid(faults: Parameters<typeof sentenceOf>[0]): Refusal {
  return { code: 'invalid_line', message: sentenceOf(faults) }
}

function keyOf({ project, trace_id, settles_at = null, status = null }: Members) {
  if (typeof project !== 'string' || typeof trace_id !== 'string') return undefined
  return { project, trace_id, settles_at, status }
}

function readEnd({ counts, sha256 }: Members): Pick<EndLine, 'counts' | 'sha256'> | undefined {
  if (!isObject(counts) || typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return
  const numbers = Object.entries(counts)
  if (numbers.length > MAX_KINDS || !numbers.every(([, n]) => isCount(n))) return
  return { counts: counts as Record<string, number>, sha256 }
}

function isCount(value: unknown) {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

type Read = { readonly fault?: Refusal; readonly values?: Members | undefined } & (
  | {
      readonly project: string
      readonly row: Parameters<ReturnType<typeof openTraceEncoder>['add']>[1]
    }
  | { readonly project?: never; readonly row?: never }
)

/** The kinds that every key may restore. */
const OPEN_KINDS: ReadonlySet<KindName> = new Set(['trace', 'score'])
/** As many as a trace in pieces may hold. */
const MAX_VALUES = 5_000_000
/** Kinds that the last line may count. */
const MAX_KINDS = 1000
export const AFTER_END: Refusal = {
  code: 'after_end',
  message: 'The line stands after the last line of the backup',
}
const BAD_END: Refusal = {
  code: 'invalid_line',
  message: 'The last line of a backup has counts by kind, and sha256 in hexadecimal',
}
const UNKNOWN_KIND: Refusal = {
  code: 'unknown_kind',
  message: 'The line has no kind that lines of a backup have',
}
const FORBIDDEN_KIND: Refusal = {
  code: 'forbidden_kind',
  message: 'Lines other than traces and scores are restored with a global admin key only',
}
