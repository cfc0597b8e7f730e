import { randomUUIDv7 } from 'node:crypto'
import { isObject, reader } from '../../jobs/rules/core/reader.ts'
import type { Fault } from '../../jobs/rules/core/reader.ts'
import type { NewScore } from '../../jobs/rules/evals/score.ts'
import { readTraceScores } from '../../jobs/rules/evals/trace-scores.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import { toTraceRowInSteps } from '../../jobs/rules/traces/trace-row.ts'
import type { TraceRow } from '../../jobs/rules/traces/trace-row.ts'
import type { TraceWarning } from '../../jobs/rules/traces/trace-warning.ts'
import type { BodyReading } from '../endpoint.ts'
import { openTurns } from '../in-turns.ts'

/** A trace as a client sent it, read, checked and made ready for the database. */
export interface SentTrace {
  readonly row: TraceRow
  /** What it brings to the statement that stores it, in bytes. */
  readonly size: number
  readonly scores: readonly NewScore[]
  /** What could not be stored as it was sent. */
  readonly warnings: readonly TraceWarning[]
  /** The project it names; undefined when it names none. */
  readonly project: string | undefined
}

/**
 * Faults are relative to the trace, such as `llm_calls.0.span_id`. A faulty score is a warning: it costs
 * only itself.
 * @param pause lets others have their turn while a large trace is read
 */
export async function readTraceBody(
  value: unknown,
  { now, contentForm: form }: BodyReading,
  pause = openTurns(),
): Promise<{ value: SentTrace } | { faults: readonly Fault[] }> {
  const result = readTrace(value, { traceId: randomUUIDv7, now })
  const faults: Fault[] = 'faults' in result ? [...result.faults] : []
  const read = isObject(value) ? reader(value, '', faults) : undefined
  const project = read?.name('project') ?? read?.name('project_id') ?? undefined
  if (!read || 'faults' in result || faults.length > 0) return { faults }
  const { scores, eval_scores } = read.value
  const rated = readTraceScores({ scores, eval_scores })
  const warnings = [...result.warnings, ...rated.warnings]
  await pause()
  const row = await toTraceRowInSteps(result.trace, { form, pause })
  const { content, metadata, session_metadata } = row
  await pause()
  const size = content.length + JSON.stringify([metadata, session_metadata]).length
  return { value: { row, size, scores: rated.scores, warnings, project } }
}
