import type { RepairOutcome } from '../../jobs/rules/manifests/repair-outcome.ts'
import type { ShownRepair } from '../../jobs/rules/manifests/shown-repair.ts'
import type { ThreadRequest } from './examination.ts'

/** What came of patching a trace; see `RepairOutcome`. */
export type Repair =
  | Exclude<RepairOutcome, { kind: 'repaired' }>
  | RepairedTrace
  /** It may be repaired, and is too large for it; or it ended the thread that patches traces, alone too. */
  | { readonly kind: 'given_up' }

export interface RepairedTrace {
  readonly kind: 'repaired'
  /** Compressed like the content of the trace. */
  readonly content: Uint8Array
  /** SHA-256 of the content before compression. */
  readonly content_hash: Uint8Array
  readonly tools_called: readonly string[]
  /** Indices of the rules that were used, ascending; the calls of all of them fit. */
  readonly rules: readonly number[]
  /** What is different; null unless a preview was asked for. */
  readonly shown: ShownRepair | null
}

export interface RepairRequest extends ThreadRequest {
  /** Indices of the rules that may be used; null for all. */
  readonly approved: readonly number[] | null
  /** A `preview` shows what is different. */
  readonly wants: 'content' | 'preview'
}
