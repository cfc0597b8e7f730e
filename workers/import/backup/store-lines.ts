import { KINDS } from '../../../jobs/rules/import/backup/lines.ts'
import type { KindName } from '../../../jobs/rules/import/backup/lines.ts'
import { kindOf } from '../../../jobs/rules/import/backup/read-line.ts'
import { messageOf } from '../../../jobs/rules/core/error-message.ts'
import { isReferenceRefused, isRowRefused } from '../../../sql/core/db.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { findProjects } from '../../../sql/import/restored-references.ts'
import type { RestoreScope } from '../../../sql/import/restored-references.ts'
import { insertRestoredRows } from '../../../sql/import/restored-rows.ts'
import type { RestoreOutcome } from '../../../sql/import/restored-rows.ts'
import { storeByHalves } from '../../../sql/transactions/store-traces.ts'
import type { Run } from '../../runtime/handler.ts'
import type { LineFault } from '../containers/upload-fault.ts'
import { afterRestore, beforeRestore } from './around-rows.ts'
import type { Entry, ParsedLines } from './parse-lines.ts'
import { toRows, unknownProject } from './restored-columns.ts'
import type { RestoredEntry, RestoreTarget } from './restored-columns.ts'
import { storeRestoredTraces } from './restored-traces.ts'
import type { RestoredTraceKey } from './restored-traces.ts'
import { ownerText } from './stored-lines.ts'
import type { OpenTrace, Retarget, StoredLines } from './stored-lines.ts'

/**
 * Stores what the lines of a chunk bring that is not there yet, one kind after the other, so that a line may name
 * what stands before it.
 */
export async function storeLines(
  tx: Transaction,
  run: Run,
  scope: RestoreScope,
  { entries, traces }: Pick<ParsedLines, 'entries' | 'traces'>,
  open: OpenTrace | undefined,
): Promise<StoredLines> {
  const sorted = sortEntries(entries, open)
  const faults: LineFault[] = [...sorted.faults]
  const restored: Record<string, number> = {}
  const links: string[] = []
  const retargets: Retarget[] = []
  let conflictCount = 0
  let newTraces: readonly RestoredTraceKey[] = []
  let presentTraces: readonly RestoredTraceKey[] = []
  const owners = new Set(open?.is_new ? [ownerText(open.project, open.trace_id)] : [])
  const names = [...new Set(entries.flatMap(({ values }) => projectOf(values) ?? []))]
  for (const { name, isFollower } of KINDS) {
    const all = sorted.byKind.get(name) ?? []
    if (all.length === 0) continue
    run.signal.throwIfAborted()
    // Again for each kind: the project of a line may have come a moment ago.
    const projects = await findProjects(tx, scope, names)
    const target: RestoreTarget = { orgId: scope.orgId, jobId: run.jobId ?? '', projects }
    const known: Entry[] = []
    for (const entry of isFollower ? all.filter(({ owner }) => owners.has(owner)) : all) {
      const project = projectOf(entry.values)
      const isKnown = project === undefined || name === 'project' || projects.has(project)
      if (isKnown) known.push(entry)
      else faults.push({ line: entry.line, ...unknownProject(project) })
    }
    if (name === 'trace') {
      const stored = await storeRestoredTraces(tx, run, target, known, traces)
      for (const fault of stored.faults) faults.push(fault)
      newTraces = stored.inserted
      presentTraces = stored.present
      restored[name] = newTraces.length
      for (const { project, trace_id } of newTraces) owners.add(ownerText(project, trace_id))
      continue
    }
    const stored = await storeKind(tx, run, target, name, known)
    for (const fault of stored.faults) faults.push(fault)
    conflictCount += stored.conflictCount
    restored[name] = stored.taken.length
    const after = await afterRestore(tx, run, target, name, stored.taken)
    for (const id of after.links) links.push(id)
    for (const each of after.retargets) retargets.push(each)
  }
  const last = sorted.last
  return {
    faults: faults.toSorted((a, b) => a.line - b.line),
    restored,
    conflictCount,
    newTraces,
    presentTraces,
    judgedIds: sorted.judged,
    links,
    retargets,
    open: last && { ...last, is_new: owners.has(ownerText(last.project, last.trace_id)) },
  }
}

/** Stores entries of one kind. A row that the database refuses is a fault of its line. */
async function storeKind(
  tx: Transaction,
  run: Run,
  target: RestoreTarget,
  name: KindName,
  entries: readonly Entry[],
) {
  const { rows, faults } = await toRows(tx, target, name, entries)
  const refused: LineFault[] = [...faults]
  const ready = await beforeRestore(tx, target, name, rows)
  const store = async (from: number, to: number) => {
    run.signal.throwIfAborted()
    const some = ready.slice(from, to)
    const outcomes = await tx.savepoint((inner) =>
      insertRestoredRows(
        inner,
        target.orgId,
        kindOf(name),
        some.map(({ row }) => row),
      ),
    )
    return outcomes.map((outcome, i) => ({ outcome, ready: some[i] as RestoredEntry }))
  }
  const stored = await storeByHalves<{ outcome: RestoreOutcome; ready: RestoredEntry }>(
    {
      store,
      isOfItem: (error) => isRowRefused(error) || isReferenceRefused(error),
      refuse(index, error) {
        const { line } = (ready[index] as RestoredEntry).entry
        const isReference = isReferenceRefused(error)
        const code = isReference ? 'unknown_reference' : 'refused'
        const why = isReference
          ? 'The line names a row that is not there'
          : 'The database refused the line'
        refused.push({ line, code, message: `${why}: ${messageOf(error)}` })
        return []
      },
    },
    0,
    ready.length,
  )
  return {
    faults: refused,
    taken: stored.flatMap(({ outcome, ready: each }) => (outcome === 'restored' ? each : [])),
    conflictCount: stored.filter(({ outcome }) => outcome === 'conflict').length,
  }
}

/** Entries by kind; those about a trace with the trace that they stand behind. */
function sortEntries(entries: readonly Entry[], open: OpenTrace | undefined) {
  const byKind = new Map<KindName, (Entry & { owner: string })[]>()
  const faults: LineFault[] = []
  const judged = new Set<string>()
  let last: Pick<OpenTrace, 'project' | 'trace_id'> | undefined = open
  for (const entry of entries) {
    const { kind, line, values } = entry
    const { isFollower } = kindOf(kind)
    const { project, trace_id } = values as { project: string; trace_id: string }
    if (kind === 'trace') last = { project, trace_id }
    else if (!isFollower) last = undefined
    if (isFollower && (last?.project !== project || last.trace_id !== trace_id)) {
      const message = `The line is not behind its trace ${JSON.stringify(trace_id)}`
      faults.push({ line, code: 'stray_line', message })
      continue
    }
    const owner = ownerText(project, trace_id)
    if (kind === 'verdict') judged.add(owner)
    const others = byKind.get(kind)
    if (others) others.push({ ...entry, owner })
    else byKind.set(kind, [{ ...entry, owner }])
  }
  return { byKind, faults, judged, last }
}

function projectOf({ project }: Entry['values']) {
  return typeof project === 'string' ? project : undefined
}
