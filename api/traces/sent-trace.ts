import { randomUUIDv7 } from 'node:crypto'
import { isObject, reader } from '../../jobs/rules/core/reader.ts'
import type { Fault } from '../../jobs/rules/core/reader.ts'
import { readScores } from '../../jobs/rules/evals/score.ts'
import type { NewScore } from '../../jobs/rules/evals/score.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import type { Trace } from '../../jobs/rules/traces/trace.ts'

/** A trace as a client sent it, read and checked. */
export interface SentTrace {
  readonly trace: Trace
  readonly scores: readonly NewScore[]
  /** The project it names; undefined when it names none. */
  readonly project: string | undefined
}

/** Faults are relative to the trace, such as `llm_calls.0.span_id`. */
export function readTraceBody(
  value: unknown,
  now: Date,
): { value: SentTrace } | { faults: readonly Fault[] } {
  const faults: Fault[] = []
  const result = readTrace(value, { traceId: randomUUIDv7, now })
  if ('faults' in result) faults.push(...result.faults)
  const read = isObject(value) ? reader(value, '', faults) : undefined
  const project = read?.name('project') ?? read?.name('project_id') ?? undefined
  const key = read?.has('scores') ? 'scores' : 'eval_scores'
  const scores = readScores(read?.any(key), key, faults)
  if ('faults' in result || faults.length > 0) return { faults }
  return { value: { trace: result.trace, scores, project } }
}
