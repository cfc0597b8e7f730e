import { describeFault } from '../core/reader.ts'
import type { Fault } from '../core/reader.ts'
import type { TraceWarning } from '../traces/trace-warning.ts'
import { identityOf, readScores } from './score.ts'
import type { NewScore } from './score.ts'

/**
 * Reads the scores that come with a trace, by the members that hold them. A faulty score is left out and
 * reported. Of scores with one identity the last is taken.
 */
export function readTraceScores(members: Readonly<Record<string, unknown>>): {
  scores: NewScore[]
  warnings: TraceWarning[]
  /** How many faults there are; `warnings` names the first. */
  faultCount: number
} {
  const faults: Fault[] = []
  const scores = Object.entries(members).flatMap(([field, value]) =>
    readScores(value, field, faults),
  )
  const distinct = new Map(scores.map((score) => [identityOf(score), score]))
  return { scores: [...distinct.values()], warnings: warningsOf(faults), faultCount: faults.length }
}

function warningsOf(faults: readonly Fault[]): TraceWarning[] {
  const messages = faults.slice(0, MAX_SHOWN).map(describeFault)
  const more = faults.length - messages.length
  if (more > 0) messages.push(`${more} more faults in scores`)
  return messages.map((message) => ({ code: 'invalid_score', message }))
}

/** Faults of one trace that are reported each on its own. */
const MAX_SHOWN = 20
