import { readScoresOf, traceOfParts } from '../../jobs/rules/import/assembled-trace.ts'
import { VISIBLE } from '../../jobs/rules/evals/annotation.ts'
import { annotationIdOf, joinFormats } from '../../jobs/rules/import/trace-parts.ts'
import type { JoinedParts } from '../../jobs/rules/import/trace-parts.ts'
import type { Trace } from '../../jobs/rules/traces/trace.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { TraceScore } from '../../sql/evals/eval-scores.ts'
import { MAX_ANNOTATIONS } from '../../sql/traces/annotations.ts'
import type { CorrectionRow } from '../../sql/traces/annotations.ts'
import { encodeTraces } from '../../sql/traces/trace-copy.ts'
import type { EncodedTraces, ImportSettings } from './encode-chunk.ts'
import { MAX_TRACE_VALUES, openParts } from './stage-parts.ts'
import type { LineFault } from './containers/upload-fault.ts'
import type { StagedPart } from './stage-parts.ts'

/** A trace that is to be put together. */
export interface PageTrace {
  readonly traceId: string
  /** Of its first part. */
  readonly line: number
  /** Whether the project has it: then only scores and corrections are taken. */
  readonly isKnown: boolean
  /** Of the rows that its parts were staged in. */
  readonly contents: readonly Uint8Array[]
}

/** How the traces of a page are put together. */
export interface PageSettings extends Omit<ImportSettings, 'format'> {
  /** Whether parts may be missing: the file broke off, or a range of time was read. */
  readonly isBroken: boolean
}

/** Traces that were put together, ready to be stored. */
export interface EncodedPage extends EncodedTraces {
  /** Of traces that the project has. */
  readonly laterScores: readonly TraceScore[]
  readonly corrections: readonly CorrectionRow[]
  /** Those new traces of which parts are missing. */
  readonly incompleteIds: readonly string[]
}

/** Makes rows of the new ones of these traces, and finds what there is to say of the others. */
export function assemblePage(traces: readonly PageTrace[], settings: PageSettings): EncodedPage {
  const made = traces.map((trace) => assembleOne(trace, settings))
  const added = made.flatMap(({ added: each }) => each ?? [])
  const rows = settings.dryRun ? [] : added.map(({ row }) => row)
  return {
    rows: encodeTraces(settings.orgId, settings.projectId, rows),
    traceIds: added.map(({ row }) => row.trace_id),
    lines: added.map(({ line }) => line),
    scores: added.flatMap(({ scores }) => scores),
    losses: added.flatMap(({ row, losses }) =>
      losses.map((code) => ({ trace_id: row.trace_id, code })),
    ),
    incompleteIds: added.flatMap(({ row, isIncomplete }) => (isIncomplete ? row.trace_id : [])),
    laterScores: made.flatMap(({ laterScores = [] }) => laterScores),
    corrections: made.flatMap(({ corrections = [] }) => corrections),
    lost: made.flatMap(({ lost }) => lost),
    skipped: made.filter(({ isSkipped }) => isSkipped).length,
    faults: made.flatMap(({ fault }) => fault ?? []),
  }
}

function assembleOne(trace: PageTrace, settings: PageSettings): Made {
  const parts = openParts(trace.contents)
  if (!parts) return { fault: tooManyValues(trace), lost: [] }
  if (trace.isKnown) return addToKnown(trace, parts, settings)
  const isStray = parts.every(({ kind }) => kind === 'score')
  if (isStray) return { lost: parts.map(() => 'score_without_trace') }
  return makeNew(trace, parts, settings)
}

function addToKnown(trace: PageTrace, parts: readonly StagedPart[], settings: PageSettings): Made {
  const joined = join(trace, parts)
  if (!joined) return { isSkipped: true, lost: [] }
  const read = readScoresOf(joined.scores)
  const scores = parts.filter(({ kind }) => kind === 'score')
  // What its spans lose was told when the trace came.
  const told = scores.length === parts.length ? joined : join(trace, scores)
  const corrected = correctionsOf(trace, joined, settings)
  return {
    isSkipped: true,
    laterScores: read.scores.map((score) => ({ ...score, trace_id: trace.traceId })),
    corrections: corrected.rows,
    lost: [...[...(told?.losses ?? []), ...read.losses].map(({ code }) => code), ...corrected.lost],
  }
}

function makeNew(trace: PageTrace, parts: readonly StagedPart[], settings: PageSettings): Made {
  const joined = join(trace, parts)
  if (!joined) throw new TypeError('Parts of no format were staged')
  const made = traceOfParts(joined, {
    traceId: trace.traceId,
    source: joined.source,
    now: settings.now,
    agentName: settings.agentName ?? joined.agentName ?? null,
  })
  const isIncomplete = settings.isBroken && !made.isWhole
  const stored: Trace = isIncomplete ? { ...made.trace, status: 'partial' } : made.trace
  const corrected = correctionsOf(trace, joined, settings)
  return {
    added: {
      row: toTraceRow(stored, settings.contentForm),
      line: trace.line,
      scores: made.scores.map((score) => ({ ...score, trace_id: trace.traceId })),
      losses: [...made.losses.map(({ code }) => code), ...corrected.lost],
      isIncomplete,
    },
    corrections: corrected.rows,
    lost: [],
  }
}

/** Corrections as annotations, as many as a trace may have. */
function correctionsOf(
  { traceId }: PageTrace,
  { source, corrections }: JoinedParts,
  { now, createdBy }: PageSettings,
) {
  const fitting = corrections.filter(
    ({ corrected_output: text }) => text.length <= MAX_CORRECTED_OUTPUT && VISIBLE.test(text),
  )
  const rows = fitting.slice(0, MAX_ANNOTATIONS).map((each) => ({
    trace_id: traceId,
    id: annotationIdOf(source, traceId, each.id),
    corrected_output: each.corrected_output,
    created_by: createdBy,
    created_at: each.created_at === null ? now : new Date(each.created_at),
  }))
  const lost = corrections.slice(rows.length).map(() => 'comment_dropped' as const)
  return { rows, lost }
}

function join({ traceId: trace_id }: PageTrace, parts: readonly StagedPart[]) {
  return joinFormats(
    parts.map(({ format, kind, id, value }) => ({ format, part: { trace_id, kind, id, value } })),
  )
}

function tooManyValues({ traceId, line }: PageTrace): LineFault {
  const message = `The trace ${traceId} holds more than ${MAX_TRACE_VALUES} values`
  return { line, code: 'trace_too_large', message }
}

/** Characters, as of an annotation. */
const MAX_CORRECTED_OUTPUT = 100_000

interface Made {
  readonly added?: {
    readonly row: TraceRow
    readonly line: number
    readonly scores: readonly TraceScore[]
    readonly losses: readonly string[]
    readonly isIncomplete: boolean
  }
  readonly laterScores?: readonly TraceScore[]
  readonly corrections?: EncodedPage['corrections']
  /** Codes of what could not be kept. */
  readonly lost: EncodedTraces['lost']
  /** The project has the trace. */
  readonly isSkipped?: boolean
  readonly fault?: LineFault
}
