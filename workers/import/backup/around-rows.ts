import { requestAggregation } from '../../../jobs/aggregate-scores.ts'
import type { KindName } from '../../../jobs/rules/import/backup/lines.ts'
import { readComponents } from '../../../jobs/rules/manifests/manifest-components.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { markJudged } from '../../../sql/evals/cell-marks.ts'
import { insertTraceSkills } from '../../../sql/evals/trace-skills.ts'
import { listManifestsInUse } from '../../../sql/import/restored-manifests.ts'
import { adoptVersions, voidScans } from '../../../sql/import/restored-skills.ts'
import { insertComponents } from '../../../sql/manifests/manifest-components.ts'
import { findActiveManifests } from '../../../sql/manifests/manifests.ts'
import type { RestoreTodo } from '../../../sql/transactions/follow-restore.ts'
import { withinEvaluators, withinSkills } from './limits.ts'
import { withFreeNumbers } from './free-numbers.ts'
import { allReady } from './ready-rows.ts'
import type { ReadyRows } from './ready-rows.ts'
import type { Restoring } from './restore-state.ts'
import type { RestoredEntry, RestoreTarget } from './restored-columns.ts'
import { readyFiles, versionOf } from './skill-files.ts'

/** What has to be there before rows are, what changes in them because of what is there, and which may come. */
export async function beforeRestore(
  tx: Transaction,
  target: RestoreTarget,
  kind: KindName,
  rows: readonly RestoredEntry[],
): Promise<ReadyRows> {
  return READY[kind]?.(tx, target, rows) ?? allReady(rows)
}

const READY: Readonly<Partial<Record<KindName, MakeReady>>> = {
  evaluator: (tx, { orgId }, rows) => withinEvaluators(tx, orgId, rows),
  skill: (tx, { orgId }, rows) => withinSkills(tx, orgId, rows),
  async skill_version(tx, { orgId, jobId }, rows) {
    await adoptVersions(tx, orgId, jobId, rows.map(versionKeyOf))
    return allReady(rows)
  },
  skill_file: readyFiles,
  async manifest(tx, { orgId }, rows) {
    return allReady(await superseded(tx, orgId, await withFreeNumbers(tx, orgId, rows)))
  },
}

type MakeReady = (
  tx: Transaction,
  target: RestoreTarget,
  rows: readonly RestoredEntry[],
) => Promise<ReadyRows>

function versionKeyOf({ row }: RestoredEntry) {
  return {
    skillId: row['skill_id'] as string,
    number: row['version_number'] as number,
    sha256: row['body_sha256'] as string,
  }
}

/** The active version of an agent stays the active one. */
async function superseded(tx: Transaction, orgId: string, entries: readonly RestoredEntry[]) {
  const isActive = ({ row }: RestoredEntry) => row['status'] === 'active'
  const byProject = Map.groupBy(entries.filter(isActive), ({ row }) => row['project_id'] as string)
  const taken = new Set<unknown>()
  for (const [projectId, rows] of byProject) {
    const names = rows.map(({ row }) => row['agent_name'] as string)
    const active = await findActiveManifests(tx, orgId, projectId, names)
    for (const each of rows) if (active.has(each.row['agent_name'] as string)) taken.add(each)
  }
  return entries.map((each) =>
    taken.has(each) ? { ...each, row: { ...each.row, status: 'superseded' } } : each,
  )
}

/** Stores what belongs to rows that were stored, and marks what does not show them yet. */
export async function afterRestore(
  { tx, run }: Restoring,
  { orgId }: RestoreTarget,
  kind: KindName,
  taken: readonly RestoredEntry[],
): Promise<Partial<Omit<RestoreTodo, 'searched'>>> {
  const ids = taken.map(({ row }) => row['id'] as string)
  if (kind === 'manifest') {
    for (const [i, { entry }] of taken.entries()) {
      // As they are read: what the line leaves out is filled in. The check of the line found no fault.
      const components = readComponents(entry.values['components'], [])
      await insertComponents(tx, orgId, ids[i] as string, components)
    }
    return listManifestsInUse(tx, orgId, ids)
  }
  if (kind === 'skill_version') return { scans: ids }
  if (kind === 'skill_file') {
    const scans = [...new Set(taken.map(versionOf))]
    await voidScans(tx, orgId, scans)
    return { scans }
  }
  if (kind === 'verdict') {
    const byProject = Map.groupBy(taken, ({ row }) => row['project_id'] as string)
    for (const [projectId, rows] of byProject) {
      const traceIds = rows.map(({ row }) => row['trace_id'] as string)
      await markJudged(tx, orgId, projectId, traceIds)
      await insertTraceSkills(tx, orgId, projectId, traceIds)
      await requestAggregation(run.queue, tx, orgId, projectId)
    }
  }
  return {}
}
