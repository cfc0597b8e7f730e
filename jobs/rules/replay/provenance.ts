import type { TraceRow } from '../traces/trace-row.ts'

/** What a replay is one of. */
export interface ReplayOrigin {
  readonly batch_id: string
  readonly task_id: string
  /** 0 where it was never given out. */
  readonly attempt: number
  /** Of the batch. */
  readonly agent_name: string
  readonly original: {
    readonly trace_id: string
    /** What groups attempts; null where the original names none. */
    readonly task_id: string | null
  }
  /** What the agent ran as; null where nobody said. */
  readonly target_manifest_id: string | null
}

/** The members by which a trace says that it is a replay. */
type MarkedMembers = Pick<
  TraceRow,
  'source_type' | 'manifest_id' | 'manifest_hash' | 'parent_trace_id' | 'task_id' | 'metadata'
>

/** A run that was submitted for a task, with the marks of a replay. It may name its manifest itself. */
export function markReplay<Row extends MarkedMembers>(row: Row, origin: ReplayOrigin): Row {
  const { batch_id, task_id, attempt, original, target_manifest_id } = origin
  const namesManifest = row.manifest_id !== null || row.manifest_hash !== null
  return {
    ...row,
    source_type: 'replayed',
    manifest_id: namesManifest ? row.manifest_id : target_manifest_id,
    parent_trace_id: original.trace_id,
    task_id: original.task_id ?? row.task_id,
    metadata: {
      ...row.metadata,
      original_trace_id: original.trace_id,
      replay: { batch_id, task_id, attempt },
    },
  }
}

/** Whether a stored trace says already that it is a replay of some task. */
export function isMarked({ source_type, metadata }: MarkedMembers) {
  return source_type === 'replayed' && metadata['replay'] !== undefined
}
