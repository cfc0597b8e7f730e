import type { KindName } from '../../../jobs/rules/import/backup/lines.ts'
import type { RestoreTodo, Retarget } from '../../../sql/transactions/follow-restore.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import type { RestoredTraceKey } from './restored-traces.ts'
import type { StoredLines } from './stored-lines.ts'

/** Adds up what storing the kinds of a chunk comes to. */
export function openSum(chain: StoredLines['chain']) {
  const faults: LineFault[] = []
  const restored: Record<string, number> = {}
  const links: string[] = []
  const retargets: Retarget[] = []
  const scans: string[] = []
  let conflictCount = 0
  let reached = chain
  let newTraces: readonly RestoredTraceKey[] = []
  let presentTraces: readonly RestoredTraceKey[] = []

  function addFaults(more: readonly LineFault[]) {
    for (const fault of more) faults.push(fault)
  }

  return {
    addFaults,
    addTraces(stored: { inserted: typeof newTraces; present: typeof presentTraces }) {
      newTraces = stored.inserted
      presentTraces = stored.present
      restored['trace'] = newTraces.length
    },
    /** @param count of rows; below 0 for ones that were taken away again */
    addRows(name: KindName, count: number) {
      restored[name] = (restored[name] ?? 0) + count
    },
    addConflicts(count: number) {
      conflictCount += count
    },
    chain: () => reached,
    reach(chain: StoredLines['chain']) {
      reached = chain
    },
    addTodo(todo: Partial<Omit<RestoreTodo, 'searched'>>) {
      for (const id of todo.links ?? []) links.push(id)
      for (const each of todo.retargets ?? []) retargets.push(each)
      for (const id of todo.scans ?? []) scans.push(id)
    },
    take(): Omit<StoredLines, 'open' | 'hasWaiting' | 'removedCount'> {
      return {
        faults: faults.toSorted((a, b) => a.line - b.line),
        restored,
        conflictCount,
        newTraces,
        presentTraces,
        chain: reached,
        todo: { links, retargets, scans: [...new Set(scans)] },
      }
    },
  }
}

export type ChunkSum = ReturnType<typeof openSum>
