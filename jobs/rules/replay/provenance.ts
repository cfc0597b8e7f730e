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

/**
 * The original that a stored trace is marked as the replay of; undefined where it has not all the marks,
 * whatever its client has written into some of them.
 */
export function markedOriginal({ source_type, parent_trace_id, metadata }: MarkedMembers) {
  const { original_trace_id, replay } = metadata
  if (source_type !== 'replayed' || parent_trace_id === null) return undefined
  const { batch_id, task_id } = (replay ?? {}) as Readonly<Record<string, unknown>>
  const isWhole = typeof batch_id === 'string' && typeof task_id === 'string'
  return isWhole && original_trace_id === parent_trace_id ? parent_trace_id : undefined
}
