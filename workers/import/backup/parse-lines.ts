import { isClientId, isObject } from '../../../jobs/rules/core/reader.ts'
import { isStorableText } from '../../../jobs/rules/core/storable.ts'
import type { Members, Refusal } from '../../../jobs/rules/import/format.ts'
import type { KindName } from '../../../jobs/rules/import/backup/lines.ts'
import { isKindName, kindOf, readLine } from '../../../jobs/rules/import/backup/read-line.ts'
import { MAX_PROJECT_NAME } from '../../../jobs/rules/import/backup/setting-kinds.ts'
import {
  restoreRevision,
  restoreTrace,
} from '../../../jobs/rules/import/backup/restored-content.ts'
import type { RestoredTrace } from '../../../jobs/rules/import/backup/restored-content.ts'
import type { ContentForm } from '../../../jobs/rules/traces/content.ts'
import type { CopyRows } from '../../../sql/core/copy-rows.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import { sentenceOf } from '../fault-sentence.ts'
import { parseRecord } from '../parse-chunk.ts'
import { kindAtStart } from './backup-chunks.ts'
import type { BackupChunk, UnreadLine } from './backup-chunks.ts'
import { openUnits } from './whole-units.ts'

/** What holds for all lines of a restore. */
export interface LineSettings {
  readonly orgId: string
  /** Whether lines of all kinds are taken; else traces and scores. */
  readonly isAdmin: boolean
  readonly contentForm: ContentForm
  /** No row can be there since a later time. */
  readonly latestMs: number
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
  /** A faulty line about the trace that the chunk before ended with. */
  readonly openFault: number | undefined
}

/** A line with something that may be stored. */
export interface Entry {
  readonly line: number
  readonly kind: KindName
  /** By column where that is made of the content, else by member. */
  readonly values: Readonly<Record<string, unknown>>
  /** Of a trace: which of the encoded ones it is; null for one that is not to be stored. */
  readonly place?: number | null
}

export interface EndLine {
  readonly line: number
  readonly offset: number
  readonly counts: Readonly<Record<string, number>>
  readonly sha256: string
}

/** Parses and checks lines, and encodes the traces among them that are whole. */
export function parseLines(
  {
    bytes,
    ends,
    lines,
    starts,
    faults: unread,
  }: Pick<BackupChunk, 'bytes' | 'ends' | 'lines' | 'starts' | 'faults'>,
  settings: LineSettings,
): ParsedLines {
  const entries: Entry[] = []
  const faults: LineFault[] = []
  const counts: Record<string, number> = {}
  const units = openUnits(settings.orgId)
  let hasHeader = false
  let end: EndLine | undefined
  let skipped = 0
  const skipUnread = (before: number) => {
    for (let next; (next = unread[skipped]) && next.line < before; skipped++) skip(units, next)
  }
  const texts = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (const [i, line] of lines.entries()) {
    skipUnread(line)
    const text = texts.subarray(ends[i - 1] ?? 0, ends[i])
    const parsed = parseRecord(text, MAX_VALUES)
    if ('code' in parsed) {
      faults.push({ line, ...parsed })
      skip(units, { line, kind: kindAtStart(text) })
      continue
    }
    const { record } = parsed
    const name = record['kind']
    if (end) faults.push({ line, ...AFTER_END })
    else if (name === 'backup' && line === 1) hasHeader = record['format'] === 1
    else if (name === 'end') {
      units.close()
      const read = readEnd(record)
      if (read) end = { ...read, line, offset: starts[i] as number }
      else faults.push({ line, ...BAD_END })
    } else if (!isKindName(name)) faults.push({ line, ...UNKNOWN_KIND })
    else {
      counts[name] = (counts[name] ?? 0) + 1
      const found = readEntry(name, record, settings)
      if (found.fault) faults.push({ line, ...found.fault })
      const entry = keepFound(units, line, name, found)
      if (entry) entries.push(entry)
    }
  }
  skipUnread(Infinity)
  const { traces, leftOut, openFault } = units.take()
  for (const fault of leftOut) faults.push(fault)
  return { entries, faults, traces, counts, hasHeader, end, openFault }
}

/** Tells the units of a line. @returns what may be stored of it */
function keepFound(
  units: ReturnType<typeof openUnits>,
  line: number,
  kind: KindName,
  { fault, values, row, project }: Read,
): Entry | undefined {
  const entry = values && { line, kind, values, place: null as number | null }
  if (row && entry) units.hold({ entry, project, row })
  else if (!kindOf(kind).isFollower) units.close()
  else if (fault && fault !== FORBIDDEN_KIND) units.spoil(line)
  return entry
}

/** A line that cannot be read is about the trace before it, unless its beginning says something else. */
function skip(
  units: ReturnType<typeof openUnits>,
  { line, kind }: Pick<UnreadLine, 'line' | 'kind'>,
) {
  if (kind === undefined || (isKindName(kind) && kindOf(kind).isFollower)) units.spoil(line)
  else units.close()
}

/** A faulty trace is an entry all the same: the lines after it are about it. */
function readEntry(
  name: KindName,
  record: Members,
  { isAdmin, contentForm, latestMs }: LineSettings,
): Read {
  if (!isAdmin && !OPEN_KINDS.has(name)) return { fault: FORBIDDEN_KIND }
  const read = readLine(name, record, latestMs)
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

/** Undefined for what cannot be the key of a trace: the database is asked for the others. */
function keyOf({ project, trace_id, settles_at = null }: Members) {
  if (!isProjectName(project) || !isClientId(trace_id)) return undefined
  return { project, trace_id, settles_at }
}

function isProjectName(name: unknown): name is string {
  return isStorableText(name) && name.length <= MAX_PROJECT_NAME
}

function readEnd({ counts, sha256 }: Members): Pick<EndLine, 'counts' | 'sha256'> | undefined {
  if (!isObject(counts) || typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return
  const numbers = Object.entries(counts)
  if (numbers.length > MAX_KINDS || !numbers.every(([name, n]) => isWord(name) && isCount(n)))
    return
  return { counts: counts as Record<string, number>, sha256 }
}

/** What the name of a kind can be, of later releases too. */
function isWord(name: string) {
  return /^\w{1,64}$/.test(name)
}

function isCount(value: unknown) {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

type Read = { readonly fault?: Refusal; readonly values?: Members | undefined } & (
  | {
      readonly project: string
      readonly row: RestoredTrace
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
