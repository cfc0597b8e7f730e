import type { Candidate } from '../../jobs/rules/datasets/candidates.ts'
import type { SelectedTrace } from '../../sql/datasets/passing-traces.ts'

/** A selected trace as the row list holds it. */
export type ListedTrace = Candidate &
  Placed & {
    /** Names it in the row list, in no order. */
    index: number
    /** Index in `SPLITS`. */
    splitIndex: number
  }

/** The manifest whose tools its rows have: that of the trace, or the one it was patched for. */
export function manifestOf({ manifest_id, repair }: ListedTrace) {
  return repair?.target_manifest_id ?? manifest_id
}

/** A trace with its compressed content. */
export interface RawTrace {
  readonly trace: ListedTrace
  readonly content: Uint8Array
  readonly user_input_preview: string | null
  readonly final_output_preview: string | null
  readonly corrected_output: string | null
}

/** By manifest, the tools it has schemas of, see `manifestTools`. */
export type ManifestTools = ReadonlyMap<string, string>

type Placed = Pick<SelectedTrace, 'period' | 'content_bytes' | 'created_at' | 'revision'>
