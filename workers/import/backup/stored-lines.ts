import type { LineFault } from '../containers/upload-fault.ts'
import type { RestoredTraceKey } from './restored-traces.ts'

/** The trace that lines are about. */
export interface OpenTrace {
  readonly project: string
  readonly trace_id: string
  /** This import has stored it, so that what is about it is stored too. */
  readonly is_new: boolean
}

/** What storing the lines of a chunk came to. */
export interface StoredLines {
  readonly faults: readonly LineFault[]
  /** How many rows of each kind were stored. */
  readonly restored: Readonly<Record<string, number>>
  readonly conflictCount: number
  /** In the order of the file. */
  readonly newTraces: readonly RestoredTraceKey[]
  /** Traces of the chunk that are there now, and whether the chunk has a verdict on them. */
  readonly presentTraces: readonly RestoredTraceKey[]
  readonly judgedIds: ReadonlySet<string>
  /** Of manifests that were stored: which have earlier traces, and of which agents they are the active one. */
  readonly links: readonly string[]
  readonly retargets: readonly Retarget[]
  readonly open: OpenTrace | undefined
}

export interface Retarget {
  readonly project_id: string
  readonly agent_name: string
  readonly manifest_id: string
}

/** Names a trace among those of all projects. */
export function ownerText(project: string, traceId: string) {
  return JSON.stringify([project, traceId])
}
