import { identityOf, readScores } from '../evals/score.ts'
import type { NewScore } from '../evals/score.ts'
import { readTrace } from '../traces/read-trace.ts'
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

/** Maps a record of a format, then checks and normalises it like a trace that a client sends. */
export function readRecord(
  record: Members,
  format: Format,
  { traceId, agentName, now }: RecordDefaults,
): { trace: Trace; scores: NewScore[] } | { faults: readonly Fault[] } {
  const mapped = format.map(record)
  const faults: Fault[] = []
  const scores = Object.entries(mapped.scores).flatMap(([field, value]) =>
    readScores(value, field, faults),
  )
  const agent = agentName ?? format.agentName
  const read = readTrace(
    { ...mapped.trace, trace_id: traceId },
    { traceId: () => '', now, sourceType: 'imported', ...(agent && { agentName: agent }) },
  )
  if ('faults' in read) faults.push(...read.faults)
  if ('faults' in read || faults.length > 0) return { faults: faults.map(renamer(format)) }
  return { trace: withWarnings(read.trace, mapped), scores: distinct(scores) }
}

function withWarnings(trace: Trace, { warnings }: Mapped): Trace {
  if (warnings.length === 0) return trace
  const origin = trace.metadata['import'] as object | undefined
  return { ...trace, metadata: { ...trace.metadata, import: { ...origin, warnings } } }
}

function renamer({ paths = {} }: Format) {
  return (fault: Fault) => {
    let { field, message } = fault
    for (const [ours, theirs] of Object.entries(paths)) {
      field = field.replace(ours, theirs)
      message = message.replace(ours, theirs)
    }
    return { field, message }
  }
}

/** The last of each identity, when both members that may hold scores hold the same one. */
function distinct(scores: NewScore[]) {
  return [...new Map(scores.map((score) => [identityOf(score), score])).values()]
}
