import { randomUUIDv7 } from 'node:crypto'
import { planFiles } from '../../jobs/rules/skills/version-files.ts'
import type { FilesFault } from '../../jobs/rules/skills/version-files.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { listFiles } from '../../sql/skills/skill-files.ts'
import type { SkillFileRow } from '../../sql/skills/skill-files.ts'
import { findVersion } from '../../sql/skills/skill-versions.ts'
import type { SkillVersionRow } from '../../sql/skills/skill-versions.ts'
import { changeSkillFiles } from '../../sql/transactions/change-skill-files.ts'
import type { ApiContext } from '../context.ts'
import { ApiError, conflictWith, notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import type { SentFile } from './sent-file.ts'
import { lockVisibleSkill, newestVersion, requireNext, skillConflict } from './skill.ts'

export interface FilesTarget {
  readonly skillName: string
  /** Versions that have the body which the files belong to; undefined where nothing is said of that. */
  readonly versionIds: readonly (string | undefined)[]
}

/**
 * Puts files to the newest version of a skill, all or none. What is there already changes nothing.
 * @throws ApiError 404; 409 for a version of another body, or a path that cannot be beside another; 422
 */
export async function putFiles(
  { sql, queue }: ApiContext,
  principal: Principal,
  { skillName, versionIds }: FilesTarget,
  sent: readonly SentFile[],
) {
  const { orgId, keyLabel: author } = principal
  return queue.transaction(sql, async (tx: Transaction) => {
    const skill = await lockVisibleSkill(tx, principal, skillName)
    const newest = await newestVersion(tx, orgId, skill.id)
    for (const id of new Set(versionIds)) {
      const named = id === undefined ? newest : await findNamed(tx, orgId, skill.id, id)
      if (!named.body_sha256.equals(newest.body_sha256)) {
        throw skillConflict('The newest version of the skill has another body', skill, newest)
      }
    }
    const present = await listFiles(tx, orgId, [newest.id])
    const plan = planFiles(present, sent)
    if ('fault' in plan) throw refusal(plan.fault, newest)
    if (newest.frozen && plan.changed.length > 0) requireNext(newest)
    const ids = new Map(present.map(({ path, id }) => [path, id]))
    const put = plan.changed.map((file) => ({ ...file, id: ids.get(file.path) ?? randomUUIDv7() }))
    const change = { present, put, removed: [], author }
    const version =
      put.length === 0 ? newest : await changeSkillFiles(tx, queue, orgId, newest, change)
    const stored = await listFiles(tx, orgId, [version.id])
    const paths = new Set(sent.map(({ path }) => path))
    return {
      version,
      files: stored.filter(({ path }) => paths.has(path)),
      isAnyNew: sent.some(({ path }) => !ids.has(path)),
    }
  })
}

async function findNamed(tx: Transaction, orgId: string, skillId: string, id: string) {
  const version = await findVersion(tx, orgId, skillId, { id })
  if (!version) throw notFound('Version')
  return version
}

function refusal(fault: FilesFault<SkillFileRow>, { id, version_number }: SkillVersionRow) {
  if (fault.kind === 'too_large') return new ApiError(422, 'too_large', fault.message)
  const { path, present } = fault
  return conflictWith(`${path} cannot be beside ${present.path}`, {
    type: 'attachment',
    id: present.id,
    name: present.path,
    version: version_number,
    version_id: id,
  })
}
