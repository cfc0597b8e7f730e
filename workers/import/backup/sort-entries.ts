import type { KindName } from '../../../jobs/rules/import/backup/lines.ts'
import { kindOf } from '../../../jobs/rules/import/backup/read-line.ts'
import { cut } from '../../../jobs/rules/core/reader.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import type { Entry } from './parse-lines.ts'
import { ownerText } from './stored-lines.ts'
import type { OpenTrace } from './stored-lines.ts'

/** An entry with the trace that it stands behind; of kinds that are about none it says nothing. */
export type OwnedEntry = Entry & { readonly owner: string }

/** Entries by kind; those about a trace with the trace that they stand behind. */
export function sortEntries(entries: readonly Entry[], open: OpenTrace | undefined) {
  const byKind = new Map<KindName, OwnedEntry[]>()
  const faults: LineFault[] = []
  let last: Pick<OpenTrace, 'project' | 'trace_id' | 'line'> | undefined = open
  for (const entry of entries) {
    const { kind, line, values } = entry
    const { isFollower } = kindOf(kind)
    const { project, trace_id } = values as { project: string; trace_id: string }
    if (kind === 'trace') last = { project, trace_id, line }
    else if (!isFollower) last = undefined
    if (isFollower && (last?.project !== project || last.trace_id !== trace_id)) {
      faults.push({ line, code: 'stray_line', message: strayMessage(trace_id) })
      continue
    }
    const owned = { ...entry, owner: ownerText(project, trace_id) }
    const others = byKind.get(kind)
    if (others) others.push(owned)
    else byKind.set(kind, [owned])
  }
  return { byKind, faults, last }
}

function strayMessage(traceId: string) {
  return `The line is not behind its trace ${JSON.stringify(cut(traceId, SHOWN))}`
}

/** Characters of an id. */
const SHOWN = 200
