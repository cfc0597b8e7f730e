import type { NewScore } from '../evals/score.ts'
import { readTraceScores } from '../evals/trace-scores.ts'
import { readTrace } from '../traces/read-trace.ts'
import type { TraceWarning } from '../traces/read-trace.ts'
import type { Fault } from '../core/reader.ts'
import type { Trace } from '../traces/trace.ts'
import type { Format, Mapped, Members } from './format.ts'

export interface RecordDefaults {
  readonly traceId: unknown
  /** For records that name no agent. */
  readonly agentName: string | null
  /** For records that say no time. */
  readonly now: Date
}

/** A trace to be imported. */
export interface ReadRecord {
  readonly trace: Trace
  readonly scores: readonly NewScore[]
  /** What of the record could not be stored as it was meant. */
  readonly lost: readonly TraceWarning[]
}

/** Maps a record of a format, then checks and normalises it like a trace that a client sends. */
export function readRecord(
  record: Members,
  format: Format,
  { traceId, agentName, now }: RecordDefaults,
): ReadRecord | { faults: readonly Fault[] } {
  const mapped = format.map(record)
  const agent = agentName ?? format.agentName
  const read = readTrace(
    { ...mapped.trace, trace_id: traceId },
    { traceId: () => '', now, sourceType: 'imported', ...(agent && { agentName: agent }) },
  )
  const rename = renamer(format)
  if ('faults' in read) {
    const named = ({ field, message }: Fault) => ({
      field: rename(field),
      message: rename(message),
    })
    return { faults: read.faults.map(named) }
  }
  const { scores, warnings } = readTraceScores(mapped.scores)
  const lost = [...read.warnings, ...warnings].map((each) => ({
    ...each,
    message: rename(each.message),
  }))
  return { trace: withWarnings(read.trace, mapped), scores, lost }
}

function withWarnings(trace: Trace, { warnings }: Mapped): Trace {
  if (warnings.length === 0) return trace
  const origin = trace.metadata['import'] as object | undefined
  return { ...trace, metadata: { ...trace.metadata, import: { ...origin, warnings } } }
}

function renamer({ paths = {} }: Format) {
  return (text: string) =>
    Object.entries(paths).reduce((renamed, [ours, theirs]) => renamed.replace(ours, theirs), text)
}
