import type { KindName } from '../../../jobs/rules/import/backup/lines.ts'
import type { Component } from '../../../jobs/rules/manifests/manifest.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { markJudged } from '../../../sql/evals/cell-marks.ts'
import { insertTraceSkills } from '../../../sql/evals/trace-skills.ts'
import { requestAggregation } from '../../../jobs/aggregate-scores.ts'
import { listManifestsInUse } from '../../../sql/import/restored-manifests.ts'
import { insertComponents } from '../../../sql/manifests/manifest-components.ts'
import { findActiveManifests } from '../../../sql/manifests/manifests.ts'
import { exchangeBlobs } from '../../../sql/skills/skill-blobs.ts'
import type { Run } from '../../runtime/handler.ts'
import { withFreeNumbers } from './free-numbers.ts'
import type { RestoredEntry, RestoreTarget } from './restored-columns.ts'
import type { Retarget } from './stored-lines.ts'

/** What has to be there before rows are, and what changes in them because of what is there. */
export async function beforeRestore(
  tx: Transaction,
  { orgId }: RestoreTarget,
  kind: KindName,
  entries: readonly RestoredEntry[],
): Promise<readonly RestoredEntry[]> {
  if (kind === 'skill_file') {
    const blobs = entries.map(({ entry: { values } }) => ({
      sha256: Buffer.from(values['sha256'] as string, 'base64'),
      content: Buffer.from(values['content'] as string, 'base64'),
    }))
    await exchangeBlobs(tx, orgId, blobs, [])
  }
  if (kind !== 'manifest') return entries
  return superseded(tx, orgId, await withFreeNumbers(tx, orgId, entries))
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
  tx: Transaction,
  { queue }: Run,
  { orgId }: RestoreTarget,
  kind: KindName,
  taken: readonly RestoredEntry[],
): Promise<{ links: readonly string[]; retargets: readonly Retarget[] }> {
  if (kind === 'manifest') {
    for (const { entry, row } of taken) {
      await insertComponents(
        tx,
        orgId,
        row['id'] as string,
        entry.values['components'] as Component[],
      )
    }
    return listManifestsInUse(
      tx,
      orgId,
      taken.map(({ row }) => row['id'] as string),
    )
  }
  if (kind === 'verdict') {
    const byProject = Map.groupBy(taken, ({ row }) => row['project_id'] as string)
    for (const [projectId, rows] of byProject) {
      const ids = rows.map(({ row }) => row['trace_id'] as string)
      await markJudged(tx, orgId, projectId, ids)
      await insertTraceSkills(tx, orgId, projectId, ids)
      await requestAggregation(queue, tx, orgId, projectId)
    }
  }
  return NOTHING
}

const NOTHING = { links: [], retargets: [] }
