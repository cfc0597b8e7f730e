import { KINDS } from '../../../jobs/rules/import/backup/lines.ts'
import type { KindName } from '../../../jobs/rules/import/backup/lines.ts'
import { findProjects } from '../../../sql/import/restored-references.ts'
import { lockSkills } from '../../../sql/skills/skills.ts'
import { afterRestore } from './around-rows.ts'
import { openSum } from './chunk-sum.ts'
import type { ChunkSum } from './chunk-sum.ts'
import type { Entry, ParsedLines } from './parse-lines.ts'
import type { Restoring } from './restore-state.ts'
import { unknownProject } from './restored-columns.ts'
import type { RestoredEntry, RestoreTarget } from './restored-columns.ts'
import { storeRestoredTraces } from './restored-traces.ts'
import { sortEntries } from './sort-entries.ts'
import { storeKind } from './store-kind.ts'
import { ownerText } from './stored-lines.ts'
import type { StoredLines } from './stored-lines.ts'
import { withoutVersionless, withVersions } from './waiting-skills.ts'

/**
 * Stores what the lines of a chunk bring that is not there yet, one kind after the other, so that a line may name
 * what stands before it.
 */
export async function storeLines(
  restoring: Restoring,
  { entries, traces }: Pick<ParsedLines, 'entries' | 'traces'>,
  { open, chain }: Partial<Pick<StoredLines, 'open' | 'chain'>>,
): Promise<StoredLines> {
  const { tx, run, scope } = restoring
  const sorted = sortEntries(entries, open)
  const sum = openSum(chain)
  sum.addFaults(sorted.faults)
  await lockNamedSkills(restoring, entries)
  const skills = sorted.byKind.get('skill') ?? []
  const versions = sorted.byKind.get('skill_version') ?? []
  const { ready, hasWaiting } = await withVersions(restoring, skills, versions)
  const owners = new Set(open?.is_new ? [ownerText(open.project, open.trace_id)] : [])
  const names = [...new Set(entries.flatMap(({ values }) => projectOf(values) ?? []))]
  let newSkills: readonly RestoredEntry[] = []
  for (const { name, isFollower } of KINDS) {
    const given = sorted.byKind.get(name) ?? []
    const owned = isFollower ? given.filter(({ owner }) => owners.has(owner)) : given
    const all = name === 'skill' ? ready : owned
    if (all.length === 0) continue
    run.signal.throwIfAborted()
    // Again for each kind: the project of a line may have come a moment ago.
    const projects = await findProjects(tx, scope, names)
    const target: RestoreTarget = { orgId: scope.orgId, jobId: run.jobId ?? '', projects }
    const known = withProject(name, all, projects, sum)
    if (name === 'trace') {
      const stored = await storeRestoredTraces(tx, run, target, known, traces)
      sum.addFaults(stored.faults)
      sum.addTraces(stored)
      for (const { project, trace_id } of stored.inserted) owners.add(ownerText(project, trace_id))
      continue
    }
    const taken = await storeRows(restoring, target, name, known, sum)
    if (name === 'skill') newSkills = taken
    if (name === 'skill_version') {
      sum.addRows('skill', -(await withoutVersionless(restoring, newSkills, skills)))
    }
  }
  const { last } = sorted
  const isNew = last !== undefined && owners.has(ownerText(last.project, last.trace_id))
  return { ...sum.take(), removedCount: 0, hasWaiting, open: last && { ...last, is_new: isNew } }
}

async function storeRows(
  restoring: Restoring,
  target: RestoreTarget,
  name: KindName,
  entries: readonly Entry[],
  sum: ChunkSum,
) {
  const stored = await storeKind(restoring, target, name, entries, sum.chain())
  const { taken, faults, conflictCount } = stored
  sum.reach(stored.chain)
  sum.addFaults(faults)
  sum.addConflicts(conflictCount)
  sum.addRows(name, taken.length)
  sum.addTodo(await afterRestore(restoring, target, name, taken))
  return taken
}

/** Those whose project is there and may be written to. */
function withProject(
  name: KindName,
  entries: readonly Entry[],
  projects: ReadonlyMap<string, string>,
  sum: ChunkSum,
) {
  const known: Entry[] = []
  for (const entry of entries) {
    const project = projectOf(entry.values)
    if (project === undefined || name === 'project' || projects.has(project)) known.push(entry)
    else sum.addFaults([{ line: entry.line, ...unknownProject(project) }])
  }
  return known
}

/** Nobody else changes, scans or publishes the skills that lines are about meanwhile. */
async function lockNamedSkills({ tx, scope }: Restoring, entries: readonly Entry[]) {
  const names = entries.flatMap(({ kind, values }) =>
    kind === 'skill' ? (values['name'] as string) : ((values['skill'] as string | undefined) ?? []),
  )
  if (names.length > 0) await lockSkills(tx, scope.orgId, [...new Set(names)])
}

function projectOf({ project }: Entry['values']) {
  return typeof project === 'string' ? project : undefined
}
