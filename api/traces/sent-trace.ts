import { randomUUIDv7 } from 'node:crypto'
import { isObject, reader } from '../../jobs/rules/core/reader.ts'
import type { Fault } from '../../jobs/rules/core/reader.ts'
import type { NewScore } from '../../jobs/rules/evals/score.ts'
import { readTraceScores } from '../../jobs/rules/evals/trace-scores.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import type { TraceWarning } from '../../jobs/rules/traces/trace-warning.ts'
import type { Trace } from '../../jobs/rules/traces/trace.ts'

/** A trace as a client sent it, read and checked. */
export interface SentTrace {
  readonly trace: Trace
  readonly scores: readonly NewScore[]
  /** What could not be stored as it was sent. */
  readonly warnings: readonly TraceWarning[]
  /** The project it names; undefined when it names none. */
  readonly project: string | undefined
}

/**
 * Faults are relative to the trace, such as `llm_calls.0.span_id`. A faulty score is a warning: it costs
 * only itself.
 */
export function readTraceBody(
  value: unknown,
  now: Date,
): { value: SentTrace } | { faults: readonly Fault[] } {
  const result = readTrace(value, { traceId: randomUUIDv7, now })
  const faults: Fault[] = 'faults' in result ? [...result.faults] : []
  const read = isObject(value) ? reader(value, '', faults) : undefined
  const project = read?.name('project') ?? read?.name('project_id') ?? undefined
  if (!read || 'faults' in result || faults.length > 0) return { faults }
  const { scores, eval_scores } = read.value
  const rated = readTraceScores({ scores, eval_scores })
  const warnings = [...result.warnings, ...rated.warnings]
  return { value: { trace: result.trace, scores: rated.scores, warnings, project } }
}
