import { findProjects } from '../../../sql/import/restored-references.ts'
import { removeTraces } from '../../../sql/transactions/remove-traces.ts'
import type { ReadyChunk, RestoreCursor, Restoring } from './restore-state.ts'
import type { RestoredTraceKey } from './restored-traces.ts'
import { storeLines } from './store-lines.ts'
import type { OpenTrace, StoredLines } from './stored-lines.ts'
import { versionlessFaults } from './waiting-skills.ts'
import { leftOutBy } from './whole-units.ts'

/** Stores the lines of a chunk, but for traces of which lines are missing or faulty. */
export async function storeUnits(
  restoring: Restoring,
  { chunk, parsed }: ReadyChunk,
  from: RestoreCursor | undefined,
): Promise<StoredLines> {
  const isBroken =
    chunk.isLast && chunk.cappedAtLine === undefined && !(from?.last_line ?? parsed.end)
  const { open, leftOut } = await withoutSpoiled(restoring, from?.open, parsed.openFault)
  const whole = await storeLines(restoring, parsed, { open, chain: from?.chain })
  const stored = isBroken ? await withoutBroken(restoring, whole) : whole
  const { trace = 0 } = stored.restored
  const isAtEnd = chunk.isLast && !isBroken
  const versionless = isAtEnd ? await versionlessFaults(restoring) : []
  return {
    ...stored,
    restored: { ...stored.restored, trace: trace - leftOut.length },
    removedCount: stored.removedCount + leftOut.length,
    faults: [...stored.faults, ...leftOut, ...versionless],
  }
}

/** Takes away again the trace that the chunk before ended with, where a line of this one about it is faulty. */
async function withoutSpoiled(
  restoring: Restoring,
  open: OpenTrace | undefined,
  faultLine: number | undefined,
) {
  if (!open?.is_new || faultLine === undefined || !(await removeTrace(restoring, open))) {
    return { open, leftOut: [] }
  }
  return {
    open: { ...open, is_new: false },
    leftOut: [leftOutBy(faultLine, open.line ?? faultLine)],
  }
}

/**
 * Takes away again the trace that the file broke off in: lines about it may be missing, which are skipped of a
 * trace that is there when the whole is restored.
 */
async function withoutBroken(restoring: Restoring, stored: StoredLines): Promise<StoredLines> {
  const { open } = stored
  if (!open?.is_new || !(await removeTrace(restoring, open))) return stored
  const isOther = ({ project, trace_id }: RestoredTraceKey) =>
    project !== open.project || trace_id !== open.trace_id
  const newTraces = stored.newTraces.filter(isOther)
  return {
    ...stored,
    newTraces,
    presentTraces: stored.presentTraces.filter(isOther),
    // One of an earlier chunk was counted with that.
    removedCount: newTraces.length === stored.newTraces.length ? 1 : 0,
    open: undefined,
  }
}

/** Whether there was such a trace. */
async function removeTrace(
  { tx, run, scope }: Restoring,
  { project, trace_id }: Pick<OpenTrace, 'project' | 'trace_id'>,
) {
  const { orgId } = scope
  const projectId = (await findProjects(tx, scope, [project])).get(project)
  if (projectId === undefined) return false
  return (await removeTraces(tx, run.queue, { orgId, projectId }, [trace_id])) > 0
}
