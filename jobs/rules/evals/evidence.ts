import type { Verdict } from '../core/verdicts.ts'
import type { JudgedScore } from './quality.ts'

/** What is known of a trace when it is decided on. */
export interface Evidence {
  /** `malformed.*`: why the content cannot be trained on. */
  readonly malformed: string | null
  /** `policy.*`: why it may not be trained on. */
  readonly forbidden: string | null
  /** The older trace with the same conversation. */
  readonly duplicate_of: string | null
  /** The annotation in which a person wrote another output; null where none holds. */
  readonly correction: string | null
  /** How the trace fits the target manifest; null without an analysis. */
  readonly compatibility: CompatibilityEvidence | null
  /** How the outcome broke the output contract; null when it did not, or there is none. */
  readonly contract: { readonly subject: string; readonly rerunnable: boolean } | null
  readonly tool_error_count: number
  /** Whether a person should look at the trace, as somebody said last; null where nobody spoke of it. */
  readonly flagged: boolean | null
  readonly scores: readonly JudgedScore[]
}

export interface CompatibilityEvidence {
  readonly verdict: Verdict
  /** Usable as the verdict says, but somebody should have a look. */
  readonly needs_review: boolean
  /** Code of the reason that stands for all: `compat.*`. */
  readonly code: string
  readonly subject: string
  readonly message: string
}
