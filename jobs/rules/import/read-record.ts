import type { NewScore } from '../evals/score.ts'
import { readTraceScores } from '../evals/trace-scores.ts'
import { isMember, readTrace } from '../traces/read-trace.ts'
import { isObject } from '../core/reader.ts'
import type { Fault } from '../core/reader.ts'
import type { Trace } from '../traces/trace.ts'
import type { Format, Loss, Members } from './format.ts'

export interface RecordDefaults {
  readonly traceId: unknown
  /** For records that name no agent. */
  readonly agentName: string | null
  /** For records that say no time. */
  readonly now: Date
}

/** A record as it is to be stored, and a code for each thing it tells that cannot be. */
export interface ReadRecord {
  readonly trace: Trace
  readonly scores: readonly NewScore[]
  readonly losses: readonly Loss['code'][]
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
    {
      traceId: () => '',
      now,
      sourceType: 'imported',
      keepsAnswered: true,
      ...(agent && { agentName: agent }),
    },
  )
  const rename = renamer(format)
  if ('faults' in read) {
    const named = ({ field, message }: Fault) => ({
      field: rename(field),
      message: rename(message),
    })
    return { faults: read.faults.map(named) }
  }
  const { scores, warnings, faultCount } = readTraceScores(mapped.scores)
  const warned = [...read.warnings, ...warnings].map(({ code, message }) => ({
    code,
    message: rename(message),
  }))
  const losses = [...mapped.losses, ...warned, ...droppedMembers(mapped.trace, read.trace)]
  const untold = Array<'invalid_score'>(faultCount - warnings.length).fill('invalid_score')
  const codes = [...losses.map(({ code }) => code), ...untold]
  return { trace: withWarnings(read.trace, losses), scores, losses: codes }
}

/** Members that a trace does not know are kept in its metadata, unless they are large. */
export function droppedMembers(members: Members, { metadata }: Trace): Loss[] {
  const kept = isObject(metadata['extra']) ? metadata['extra'] : {}
  const lost = Object.keys(members).filter(
    (name) => members[name] !== undefined && !isMember(name) && !(name in kept),
  )
  if (lost.length === 0) return []
  const message = `${lost.slice(0, SHOWN_NAMES).join(', ')} were left out because they are large`
  return [{ code: 'members_dropped', message }]
}

/** A trace that says in its metadata what of its record was lost. */
export function withWarnings(trace: Trace, losses: readonly Loss[]): Trace {
  if (losses.length === 0) return trace
  const origin = trace.metadata['import'] as object | undefined
  const warnings = losses.slice(0, MAX_WARNINGS).map(({ message }) => message)
  return { ...trace, metadata: { ...trace.metadata, import: { ...origin, warnings } } }
}

function renamer({ paths = {} }: Format) {
  return (text: string) =>
    Object.entries(paths).reduce((renamed, [ours, theirs]) => renamed.replace(ours, theirs), text)
}

/** Sentences of one trace that are kept. */
const MAX_WARNINGS = 20
const SHOWN_NAMES = 12
