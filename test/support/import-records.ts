import { traceOfParts } from '../../jobs/rules/import/assembled-trace.ts'
import type { Members } from '../../jobs/rules/import/format.ts'
import { readRecord } from '../../jobs/rules/import/read-record.ts'
import { joinFormats } from '../../jobs/rules/import/trace-parts.ts'
import type { Trace } from '../../jobs/rules/traces/trace.ts'
import { assemblePage } from '../../workers/import/assemble-page.ts'
import type { EncodedPage } from '../../workers/import/assemble-page.ts'
import { encodeChunk } from '../../workers/import/encode-chunk.ts'
import type { EncodedChunk } from '../../workers/import/encode-chunk.ts'
import { parseChunk } from '../../workers/import/parse-chunk.ts'
import type { ParsedChunk } from '../../workers/import/parse-chunk.ts'
import { joinParts } from '../../workers/import/stage-parts.ts'
import type { FoundPart } from '../../workers/import/stage-parts.ts'

/** What an import makes of a few records, in the terms of its threads and in those of the rules. */
export interface ImportedRecords {
  readonly parsed: ParsedChunk
  readonly chunk: EncodedChunk
  readonly page: EncodedPage
  /** As they are stored. */
  readonly traces: readonly Trace[]
}

/**
 * Imports records without a database, as the lines of one file, in all steps of a worker.
 * @param areKnown whether the project has the traces that come in parts
 */
export function importRecords(records: readonly Members[], areKnown: boolean): ImportedRecords {
  const parsed = parseChunk(chunkOf(records), null)
  const parts = parsed.candidates.flatMap((each) => ('parts' in each ? each.parts : []))
  const named = parts.flatMap(({ part }) => part.trace_id ?? [])
  const known = new Set(areKnown ? named : [])
  const chunk = encodeChunk(parsed, known, SETTINGS, 1)
  const { traces, rows } = joinParts([parts], known)
  const contents = new Map(rows.map(({ trace_id, content }) => [trace_id, content]))
  const page = assemblePage(
    traces.map(({ trace_id, first_line, is_known }) => ({
      traceId: trace_id,
      line: first_line,
      isKnown: is_known,
      contents: [contents.get(trace_id) ?? []].flat(),
    })),
    { ...SETTINGS, isBroken: false },
  )
  const whole = wholeTraces(parsed)
  return { parsed, chunk, page, traces: [...whole, ...tracesOfParts(parts)] }
}

/** The traces that parts tell, whatever the order in which they come. */
export function tracesOfParts(parts: readonly FoundPart[]): Trace[] {
  const named = parts.flatMap(({ part, ...rest }) =>
    part.trace_id === null ? [] : [{ ...rest, part }],
  )
  const byTrace = [...Map.groupBy(named, ({ part }) => part.trace_id)]
  return byTrace.flatMap(([traceId, own]) => {
    const joined = joinFormats(own)
    if (!joined || own.every(({ part }) => part.kind === 'score')) return []
    const { source, agentName = null } = joined
    return traceOfParts(joined, { traceId, source, agentName, now: SETTINGS.now }).trace
  })
}

/** Records as they are read from a file. */
export function chunkOf(records: readonly Members[]) {
  const lines = records.map((record) => Buffer.from(`${JSON.stringify(record)}\n`))
  let end = 0
  return {
    bytes: Buffer.concat(lines),
    ends: lines.map(({ length }) => (end += length)),
    lines: lines.map((_, i) => i + 1),
  }
}

/** Of a record that stands for several traces all are stored or none. */
function wholeTraces({ candidates }: ParsedChunk): Trace[] {
  return candidates.flatMap((each) => {
    if (!('traces' in each)) return []
    const read = each.traces.map(({ record, traceId }) =>
      readRecord(record, each.format, { traceId, agentName: null, now: SETTINGS.now }),
    )
    const traces = read.flatMap((one) => ('faults' in one ? [] : one.trace))
    return traces.length === read.length ? traces : []
  })
}

const SETTINGS = {
  orgId: '00000000-0000-4000-8000-000000000001',
  projectId: '00000000-0000-4000-8000-000000000002',
  importId: '00000000-0000-4000-8000-000000000003',
  format: null,
  agentName: null,
  now: new Date('2026-01-01T00:00:00Z'),
  dryRun: false,
  createdBy: 'a key',
  contentForm: 'shared',
} as const
