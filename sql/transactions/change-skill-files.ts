import { randomUUIDv7 } from 'node:crypto'
import type { Queue } from '../../jobs/queue.ts'
import type { VersionFile } from '../../jobs/rules/skills/version-files.ts'
import * as jobs from '../../jobs/scan-skill.ts'
import type { Transaction } from '../core/db.ts'
import { exchangeBlobs } from '../skills/skill-blobs.ts'
import { deleteFiles, upsertFiles } from '../skills/skill-files.ts'
import { readBodies, reviseVersion } from '../skills/skill-versions.ts'
import type { SkillVersionRow } from '../skills/skill-versions.ts'
import { adoptSkills } from '../skills/skills.ts'
import { addSkillVersions } from './add-skill-versions.ts'

export interface FilesChange {
  /** The files that are there. */
  readonly present: readonly VersionFile[]
  /** New files, and those that replace the ones of their paths. */
  readonly put: readonly (VersionFile & { readonly id: string; readonly content: Buffer })[]
  /** Paths. */
  readonly removed: readonly string[]
  /** Of the version, where one is made. */
  readonly author: string
}

/**
 * Changes files of the newest version of a skill that the transaction has locked: in place, so that it is
 * scanned anew; or, where it is frozen, in a version that follows it with the same body. Returns the
 * version that is the newest then.
 */
export async function changeSkillFiles(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  newest: SkillVersionRow,
  { present, put, removed, author }: FilesChange,
): Promise<Pick<SkillVersionRow, 'id' | 'version_number'>> {
  const changed = newest.frozen
    ? await followVersion(tx, queue, orgId, newest, author)
    : await reviseInPlace(tx, queue, orgId, newest)
  const lostPaths = new Set([...removed, ...put.map(({ path }) => path)])
  const lost = present.filter(({ path }) => lostPaths.has(path))
  await exchangeBlobs(
    tx,
    orgId,
    put,
    lost.map(({ sha256 }) => sha256),
  )
  await deleteFiles(tx, orgId, changed.id, removed)
  await upsertFiles(
    tx,
    orgId,
    changed.id,
    put.map(({ content: _, ...file }) => file),
  )
  return changed
}

async function followVersion(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  { id: parent, skill_id, version_number: before }: SkillVersionRow,
  author: string,
) {
  const bodies = await readBodies(tx, orgId, [parent])
  const version = { id: randomUUIDv7(), version_number: before + 1 }
  await addSkillVersions(tx, queue, orgId, [
    {
      ...version,
      skill_id,
      body: bodies.get(parent) ?? '',
      change_summary: null,
      author,
      origin: 'files',
      parent_version_id: parent,
      restored_from_version_id: null,
    },
  ])
  return version
}

async function reviseInPlace(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  { id, skill_id, version_number }: SkillVersionRow,
) {
  await reviseVersion(tx, orgId, id)
  await adoptSkills(tx, orgId, [skill_id])
  await queue.enqueue(tx, jobs.scanSkill, { version_id: id }, { orgId, key: id })
  return { id, version_number }
}
