import type { RestoreTodo } from '../../../sql/transactions/follow-restore.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import type { ChainState } from './own-versions.ts'
import type { RestoredTraceKey } from './restored-traces.ts'

/** The trace that lines are about. */
export interface OpenTrace {
  readonly project: string
  readonly trace_id: string
  /** This import has stored it, so that what is about it is stored too. */
  readonly is_new: boolean
  /** Of the trace. */
  readonly line?: number | undefined
}

/** What storing the lines of a chunk came to. */
export interface StoredLines {
  readonly faults: readonly LineFault[]
  /** How many rows of each kind were stored. */
  readonly restored: Readonly<Record<string, number>>
  readonly conflictCount: number
  /** In the order of the file. */
  readonly newTraces: readonly RestoredTraceKey[]
  /** Traces of the chunk that are there now. */
  readonly presentTraces: readonly RestoredTraceKey[]
  /** Traces of earlier chunks that were taken away again. */
  readonly removedCount: number
  /** Skills wait for their versions. */
  readonly hasWaiting: boolean
  readonly todo: Omit<RestoreTodo, 'searched'>
  readonly open: OpenTrace | undefined
  /** How far the lines about versions of something have come. */
  readonly chain: ChainState | undefined
}

/** Names a trace among those of all projects. */
export function ownerText(project: string, traceId: string) {
  return JSON.stringify([project, traceId])
}
