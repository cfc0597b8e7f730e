import type { TraceContent } from '../traces/trace.ts'
import type { CompatCode } from './compat-decision.ts'

/** What came of patching a trace to fit another manifest. Rules are told by their indices, ascending. */
export type RepairOutcome =
  /** There is nothing to patch, or patching would not do. */
  | { readonly kind: 'ineligible' }
  | {
      readonly kind: 'repaired'
      readonly content: TraceContent
      /** Those that were used. */
      readonly rules: readonly number[]
      readonly tools_called: readonly string[]
    }
  /** It needs rules that are not approved. */
  | { readonly kind: 'skipped'; readonly needs: readonly number[] }
  | RepairFailure

/** The trace is eligible, and yet cannot be patched whole. */
export interface RepairFailure extends RepairFault {
  readonly kind: 'failed'
  /** Those that it would have used. */
  readonly rules: readonly number[]
  /** Those of them whose calls all fit afterwards. */
  readonly fitting: readonly number[]
}

export interface RepairFault {
  readonly code: RepairFaultCode
  /** For people; at most 500 characters. */
  readonly message: string
}

export type RepairFaultCode =
  /** Of a call that only messages tell of, so that it did not count for the compatibility. */
  | Extract<CompatCode, 'tool_missing' | 'tool_schema_incompatible' | 'tool_schema_unverifiable'>
  /** What has to be written anew holds a number that would be rounded, or is nested too deep. */
  | 'not_writable'
  /** The patches would add too many characters. */
  | 'too_large'
  /** What does not fit stands outside of the LLM calls: in spans, or in a preview alone. */
  | 'left_unfit'
