import type { LineFault } from '../containers/upload-fault.ts'
import type { RestoredEntry } from './restored-columns.ts'

/** Rows of one kind that may be inserted, and what became of the others. */
export interface ReadyRows {
  readonly ready: readonly RestoredEntry[]
  readonly faults: readonly LineFault[]
  /** How many were left out because something else is there in their place. */
  readonly conflictCount: number
}

/** Rows that all may be inserted. */
export function allReady(ready: readonly RestoredEntry[]): ReadyRows {
  return { ready, faults: [], conflictCount: 0 }
}

/** Why a row is not inserted of which there may be no more. */
export function overLimit({ entry: { line } }: RestoredEntry, message: string): LineFault {
  return { line, code: 'over_limit', message }
}
