import type { Queue } from '../../jobs/queue.ts'
import { chooseItems, planSync } from '../../jobs/rules/skills/plan-sync.ts'
import type { StoredSkill, SyncConflict, SyncStep } from '../../jobs/rules/skills/plan-sync.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { noteHeld } from '../../sql/skills/client-installs.ts'
import { findNewest, findSameBodies, nextVersion } from '../../sql/skills/skill-versions.ts'
import type { NewSkillVersion, SkillVersionRow } from '../../sql/skills/skill-versions.ts'
import { findSkills, lockSkills } from '../../sql/skills/skills.ts'
import type { NewSkill, SkillRow } from '../../sql/skills/skills.ts'
import { addSkillVersions } from '../../sql/transactions/add-skill-versions.ts'
import { addSkills, countRoom, newSkill } from '../../sql/transactions/add-skills.ts'
import { changeSkills } from '../../sql/transactions/change-skills.ts'
import type { Principal } from '../principal.ts'
import { changeOfDetails, defaultDetails, detailsOf } from './members.ts'
import { newestOf, skillConflict } from './skill.ts'
import type { SentSkill, SyncRequest } from './sync-request.ts'

/**
 * Stores the skills that were sent, in the caller's transaction. Returns what became of each, in order.
 * @throws ApiError 409 under the policy `fail`
 */
export async function applySync(
  tx: Transaction,
  queue: Queue,
  { orgId, keyId, keyLabel }: Principal,
  request: Sync,
): Promise<readonly SyncOutcome[]> {
  const { items, author = keyLabel } = request
  const names = items.map(({ name }) => name)
  await lockSkills(tx, orgId, names)
  const policy = request.conflict_policy
  const stored = await findStored(tx, orgId, names, chooseItems(items, policy))
  const room = await countRoom(tx, orgId)
  const plan = planSync(items, stored, { policy, room })
  if ('conflict' in plan) throw conflictOf(plan.conflict, stored)
  const outcomes = items.map((item, i) =>
    outcomeOf(item, plan.steps[i] as SyncStep, stored.get(item.name), { author, keyId }),
  )
  await addSkills(
    tx,
    queue,
    orgId,
    outcomes.flatMap(({ skill, version }) => (skill && version ? [{ skill, version }] : [])),
  )
  const pushed = outcomes.flatMap(({ skill, version }) => (!skill && version ? [version] : []))
  await addSkillVersions(tx, queue, orgId, pushed)
  const changed = outcomes.flatMap(({ details }) => (details ? [details] : []))
  await changeSkills(tx, queue, orgId, changed)
  await noteInstall(tx, orgId, request, outcomes)
  return outcomes
}

/** The stored skills of these names, by name, each with the version that has the body chosen for it. */
async function findStored(
  tx: Transaction,
  orgId: string,
  names: readonly string[],
  chosen: ReadonlyMap<string, SentSkill>,
) {
  const skills = await findSkills(tx, orgId, names)
  const wanted = [...chosen.values()].flatMap(({ name, sha256 }) => {
    const skill = skills.get(name)
    return skill ? [{ skillId: skill.id, sha256 }] : []
  })
  const ids = [...skills.values()].map(({ id }) => id)
  const [newest, same] = await Promise.all([
    findNewest(tx, orgId, ids),
    findSameBodies(tx, orgId, wanted),
  ])
  return new Map(
    [...skills].map(([name, row]): [string, Stored] => [
      name,
      {
        row,
        newest: newestOf(newest, row.id),
        same: same.get(row.id),
        updatedAt: row.updated_at,
      },
    ]),
  )
}

/** What an item's step comes to: a skill, a version, other details, or nothing. */
function outcomeOf(
  item: SentSkill,
  step: SyncStep,
  stored: Stored | undefined,
  { author, keyId }: { readonly author: string; readonly keyId: string },
): SyncOutcome {
  if (step.action === 'failed') return { item, step }
  if (!stored) {
    if (step.action !== 'created') return { item, step }
    const { name, body } = item
    const details = detailsOf(item, defaultDetails(name, body))
    const eval_yaml = item.eval_yaml_text ?? null
    const skill = newSkill({ name, ...details, eval_yaml, created_by: keyId })
    const version = nextVersion(skill.id, undefined, { body, origin: 'sync', author })
    return { item, step, skill, version, newest: version }
  }
  const { row, newest } = stored
  const isLocal = step.action === 'pushed' || (step.action === 'no_change' && step.isLocal)
  const details = isLocal ? changeOfDetails(item, row) : undefined
  if (step.action !== 'pushed') return { item, step, row, newest, details }
  const version = nextVersion(row.id, newest, {
    body: item.body,
    origin: 'sync',
    author,
    restored_from_version_id: step.restored?.id ?? null,
  })
  return { item, step, row, version, newest: version, details }
}

async function noteInstall(
  tx: Transaction,
  orgId: string,
  { install_id }: Sync,
  outcomes: readonly SyncOutcome[],
) {
  if (install_id === undefined) return
  const held = outcomes.flatMap(({ item: { name }, step: { action }, newest }) => {
    if (action === 'failed' || !newest) return []
    return [{ name, version: action === 'pulled' ? null : newest.version_number }]
  })
  await noteHeld(tx, orgId, install_id, held)
}

function conflictOf({ item, version }: SyncConflict, stored: ReadonlyMap<string, Stored>) {
  const row = stored.get(item.name)?.row ?? { id: '', name: item.name }
  return skillConflict(`There is a skill ${item.name} already`, row, version)
}

/** What became of an item. Of one that failed there is no more than the step. */
export interface SyncOutcome {
  readonly item: SentSkill
  readonly step: SyncStep
  /** The stored skill that has the name. */
  readonly row?: SkillRow
  /** The newest version from now on. */
  readonly newest?: Pick<SkillVersionRow, 'id' | 'version_number'>
  /** What is written: a skill, a version, and other details. */
  readonly skill?: NewSkill
  readonly version?: NewSkillVersion
  readonly details?: ReturnType<typeof changeOfDetails> | undefined
}

type Sync = Omit<SyncRequest, 'skills'> & { readonly items: readonly SentSkill[] }

interface Stored extends StoredSkill {
  readonly row: SkillRow
  readonly newest: SkillVersionRow
}
