import type { FormatName } from '../../jobs/rules/import/detect.ts'
import type { Loss } from '../../jobs/rules/import/format.ts'
import { readRecord } from '../../jobs/rules/import/read-record.ts'
import type { ReadRecord } from '../../jobs/rules/import/read-record.ts'
import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { CopyRows } from '../../sql/core/copy-rows.ts'
import type { TraceScore } from '../../sql/evals/eval-scores.ts'
import { encodeParts } from '../../sql/import/import-parts.ts'
import type { StagedChunk } from '../../sql/import/import-parts.ts'
import { openTraceWriter } from '../../sql/traces/trace-copy.ts'
import { sentenceOf } from './fault-sentence.ts'
import type { ParsedChunk, PartsRecord, WholeRecord } from './parse-chunk.ts'
import { joinParts } from './stage-parts.ts'
import type { LineFault } from './containers/upload-fault.ts'

/** What holds for all records of an import. */
export interface ImportSettings {
  readonly orgId: string
  readonly projectId: string
  readonly importId: string
  /** The only format to accept; null detects the format of each record. */
  readonly format: FormatName | null
  readonly agentName: string | null
  readonly now: Date
  /** Records are checked and not stored. */
  readonly dryRun: boolean
  /** The key that asked for the import. */
  readonly createdBy: string
  readonly contentForm: ContentForm
}

/** Traces ready to be stored, with what belongs to them. */
export interface EncodedTraces {
  /** Empty in a dry run. */
  readonly rows: CopyRows
  /** Id and line of each trace, in the order of the rows. */
  readonly traceIds: readonly string[]
  readonly lines: readonly number[]
  readonly scores: readonly TraceScore[]
  /** What could not be kept of a trace. */
  readonly losses: readonly TraceLoss[]
  /** Codes of what could not be kept, whatever is stored. */
  readonly lost: readonly Loss['code'][]
  readonly skipped: number
  readonly faults: readonly LineFault[]
}

/** A chunk ready to be stored. */
export interface EncodedChunk extends EncodedTraces {
  /** Undefined where the chunk holds no pieces of traces. */
  readonly staged: StagedChunk | undefined
  /** Whether scores were staged that name only a span. */
  readonly hasSpanScores: boolean
}

export interface TraceLoss {
  readonly trace_id: string
  readonly code: string
}

/**
 * Checks the whole traces that are not known yet and makes rows of them, and of the parts of others. Of
 * a record that stands for several traces all are stored or none.
 * @param chunkNo distinguishes the parts of this chunk from those of others
 * @param encoder has what was encoded of the chunk before
 */
export function encodeChunk(
  { candidates }: Pick<ParsedChunk, 'candidates'>,
  known: ReadonlySet<string>,
  settings: ImportSettings,
  chunkNo: number,
  encoder = openChunkEncoder(settings),
): EncodedChunk {
  const inParts: PartsRecord[] = []
  for (const candidate of candidates) {
    if ('parts' in candidate) inParts.push(candidate)
    else encoder.add(candidate, known)
  }
  const encoded = encoder.finish()
  const { rows, faults, ...joined } = joinParts(
    inParts.map(({ parts }) => parts),
    known,
  )
  return {
    ...encoded,
    lost: inParts.flatMap(({ losses }) => losses.map(({ code }) => code)),
    faults: [...encoded.faults, ...faults],
    staged:
      rows.length + joined.traces.length > 0
        ? { ...joined, chunkNo, rows: encodeParts(settings, chunkNo, rows) }
        : undefined,
    hasSpanScores: rows.some(({ trace_id }) => trace_id === ''),
  }
}

export type ChunkEncoder = ReturnType<typeof openChunkEncoder>

/**
 * Makes rows of the whole traces of one chunk.
 * @param memory for the rows, as long as it is large enough
 */
export function openChunkEncoder(settings: ImportSettings, memory?: ArrayBufferLike) {
  const seen = new Set<string>()
  const rows = openTraceWriter(settings.orgId, settings.projectId, memory)
  const traceIds: string[] = []
  const lines: number[] = []
  const scores: TraceScore[] = []
  const losses: TraceLoss[] = []
  const faults: LineFault[] = []
  const doubted = new Map<WholeRecord, LineFault>()
  let skipped = 0

  /** Adds all traces that are not known and did not come before in the chunk, or none and returns why. */
  function encode(
    { line, format, traces }: WholeRecord,
    known: ReadonlySet<string>,
  ): LineFault | undefined {
    const unseen = traces.filter(({ key }) => !known.has(key) && !seen.has(key))
    const read = unseen.map(({ record, traceId }) =>
      readRecord(record, format, { ...settings, traceId }),
    )
    const fault = read.find((each) => 'faults' in each)
    if (fault) return { line, code: 'invalid_record', message: sentenceOf(fault.faults) }
    skipped += traces.length - unseen.length
    for (const [i, { trace, ...found }] of (read as ReadRecord[]).entries()) {
      const { key } = unseen[i] as WholeRecord['traces'][number]
      seen.add(key)
      traceIds.push(key)
      lines.push(line)
      if (!settings.dryRun) rows.add(toTraceRow(trace, settings.contentForm))
      for (const score of found.scores) scores.push({ ...score, trace_id: key })
      for (const code of found.losses) losses.push({ code, trace_id: key })
    }
    return undefined
  }

  return {
    /** Adds a record whose traces are expected to be new. A faulty one is not added: it may be a known one. */
    addNew(record: WholeRecord): boolean {
      const fault = encode(record, NONE)
      if (fault) doubted.set(record, fault)
      return !fault
    },
    add(record: WholeRecord, known: ReadonlySet<string>) {
      const knownCount = record.traces.filter(({ key }) => known.has(key)).length
      const fault = (knownCount > 0 ? undefined : doubted.get(record)) ?? encode(record, known)
      if (!fault) return
      faults.push(fault)
      skipped += knownCount
    },
    finish() {
      return { rows: rows.take(), traceIds, lines, scores, losses, skipped, faults }
    },
  }
}

const NONE: ReadonlySet<string> = new Set()
