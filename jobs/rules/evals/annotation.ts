import { cut } from '../core/reader.ts'
import { MAX_REASON, PLAIN_SCORE } from './score.ts'
import type { NewScore } from './score.ts'

/** What somebody said of a trace; null and empty where they said nothing. */
export interface Annotation {
  readonly label: string | null
  /** 1 to 5. */
  readonly rating: number | null
  readonly correctness: string | null
  readonly error_categories: readonly string[]
  /** What the trace should have ended in. */
  readonly corrected_output: string | null
  /** The correction that was given before does not hold any more. */
  readonly correction_withdrawn: boolean
  readonly tags: readonly string[]
  readonly notes: string | null
  /** 0 to 1. */
  readonly score: number | null
  readonly flagged_for_review: boolean | null
}

/** A character that is seen: a correction without one says nothing. */
export const VISIBLE = /[^\s\p{C}\p{Z}]/u

/** Whether it corrects the output, or takes back what did. */
export function speaksOfCorrection(annotation: Annotation) {
  return annotation.corrected_output !== null || annotation.correction_withdrawn
}

/**
 * The score an annotation comes to: its own one, else (rating - 1) / 4. Undefined for one with neither.
 * @param annotator whose later annotations of the trace take the place of this one
 */
export function scoreOfAnnotation(
  { score, rating, label, notes }: Annotation,
  annotator: string,
): NewScore | undefined {
  const value = score ?? (rating === null ? null : (rating - 1) / 4)
  if (value === null) return undefined
  return {
    ...PLAIN_SCORE,
    name: 'annotation',
    source: 'human',
    source_kind: 'human',
    identifier: annotator,
    value,
    data_type: 'numeric',
    label,
    reason: notes === null ? null : cut(notes, MAX_REASON),
    category: 'quality',
    metadata: {},
  }
}
