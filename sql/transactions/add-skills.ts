import { randomUUIDv7 } from 'node:crypto'
import type { Queue } from '../../jobs/queue.ts'
import { MAX_SKILLS } from '../../jobs/rules/skills/skill.ts'
import type { Transaction } from '../core/db.ts'
import type { NewSkillVersion } from '../skills/skill-versions.ts'
import { countSkills, insertSkills } from '../skills/skills.ts'
import type { NewSkill } from '../skills/skills.ts'
import { addSkillVersions } from './add-skill-versions.ts'

/** The organization has as many skills as it may have. */
export class TooManySkills extends Error {}

/** A skill to be made, with the parts that nobody has to give. */
export function newSkill(
  made: Omit<NewSkill, keyof typeof NOTHING_ELSE | 'id'> & Partial<typeof NOTHING_ELSE>,
): NewSkill {
  return { id: randomUUIDv7(), ...NOTHING_ELSE, ...made }
}

/**
 * Adds skills, whose names the transaction has locked and found free, with their first versions.
 * @throws TooManySkills
 */
export async function addSkills(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  added: readonly { readonly skill: NewSkill; readonly version: NewSkillVersion }[],
) {
  if (added.length === 0) return
  if (added.length > (await countRoom(tx, orgId))) throw new TooManySkills()
  const taken = await insertSkills(
    tx,
    orgId,
    added.map(({ skill }) => skill),
  )
  if (taken.size > 0) throw new Error(`Skills of these names are there: ${[...taken].join(', ')}`)
  const versions = added.map(({ version }) => version)
  await addSkillVersions(tx, queue, orgId, versions)
}

/** How many skills more the organization may have. */
export async function countRoom(tx: Transaction, orgId: string) {
  return MAX_SKILLS - (await countSkills(tx, orgId, undefined, MAX_SKILLS))
}

const NOTHING_ELSE: Pick<
  NewSkill,
  'eval_yaml' | 'forked_from_skill_id' | 'forked_at_version_id' | 'is_fixture'
> = { eval_yaml: null, forked_from_skill_id: null, forked_at_version_id: null, is_fixture: false }
