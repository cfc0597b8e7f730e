import { messageOf } from '../../../jobs/rules/core/error-message.ts'
import { requestSettling } from '../../../jobs/settle-traces.ts'
import type { CopyRows } from '../../../sql/core/copy-rows.ts'
import { isRowRefused } from '../../../sql/core/db.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { copyRestoredTraces } from '../../../sql/import/restored-traces.ts'
import { storeByHalves, tieLate } from '../../../sql/transactions/store-traces.ts'
import { indexTraces } from '../../../sql/traces/trace-search.ts'
import type { Run } from '../../runtime/handler.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import type { Entry } from './parse-lines.ts'
import type { RestoreTarget } from './restored-columns.ts'

/** A trace of a backup that is there now. */
export interface RestoredTraceKey {
  readonly line: number
  /** Its name, as lines have it. */
  readonly project: string
  readonly project_id: string
  readonly trace_id: string
}

/** Stores the traces that are not there yet, and makes them searchable. Nothing is judged. */
export async function storeRestoredTraces(
  tx: Transaction,
  { signal, queue }: Run,
  { orgId, projects }: RestoreTarget,
  entries: readonly Entry[],
  rows: CopyRows,
): Promise<{
  inserted: readonly RestoredTraceKey[]
  present: readonly RestoredTraceKey[]
  faults: readonly LineFault[]
}> {
  const faults: LineFault[] = []
  const byPlace = new Map(entries.flatMap((entry) => placeOf(entry)))
  const copied = await storeByHalves(
    {
      store(from, to) {
        signal.throwIfAborted()
        return tx.savepoint(async (inner) => [
          ...(await copyRestoredTraces(inner, projects, rows, from, to)),
        ])
      },
      isOfItem: isRowRefused,
      refuse(index, error) {
        const line = byPlace.get(index)?.line
        const message = `The database refused the line: ${messageOf(error)}`
        if (line !== undefined) faults.push({ line, code: 'refused', message })
        return []
      },
    },
    0,
    rows.ends.length,
  )
  await tieLate(tx, copied)
  const isNew = new Set(copied.map(({ project_id, trace_id }) => `${project_id} ${trace_id}`))
  const refused = new Set(faults.map(({ line }) => line))
  const present = [...byPlace.values()].flatMap(({ line, values }) => {
    const { project, trace_id } = values as { project: string; trace_id: string }
    const project_id = projects.get(project)
    return project_id === undefined || refused.has(line)
      ? []
      : { line, project, project_id, trace_id }
  })
  const inserted = firstOfEach(present).filter(({ project_id, trace_id }) =>
    isNew.has(`${project_id} ${trace_id}`),
  )
  for (const [projectId, traces] of Map.groupBy(inserted, ({ project_id }) => project_id)) {
    signal.throwIfAborted()
    const ids = traces.map(({ trace_id }) => trace_id)
    await indexTraces(tx, orgId, projectId, ids)
    const lines = new Set(traces.map(({ line }) => line))
    const isOpen = ({ line, values }: Entry) => lines.has(line) && values['settles_at'] !== null
    if (entries.some(isOpen)) await requestSettling(queue, tx, orgId, projectId)
  }
  return { inserted, present, faults }
}

function placeOf(entry: Entry): [number, Entry][] {
  return typeof entry.place === 'number' ? [[entry.place, entry]] : []
}

/** A trace that comes twice is that of its first line. */
function firstOfEach(traces: readonly RestoredTraceKey[]) {
  const firsts = new Map<string, RestoredTraceKey>()
  for (const trace of traces) {
    const key = `${trace.project_id} ${trace.trace_id}`
    if (!firsts.has(key)) firsts.set(key, trace)
  }
  return [...firsts.values()]
}
