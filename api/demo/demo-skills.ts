import { DEMO_SKILLS } from '../../jobs/rules/demo/skills.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findSkills, lockSkills } from '../../sql/skills/skills.ts'
import type { SkillRow } from '../../sql/skills/skills.ts'

/** Locks the names of the demo's skills. Returns the skills that have them, in the order of the demo. */
export async function lockDemoSkills(tx: Transaction, orgId: string): Promise<NamedSkills> {
  const names = DEMO_SKILLS.map(({ name }) => name)
  await lockSkills(tx, orgId, names)
  const found = await findSkills(tx, orgId, names)
  const skills = names.flatMap((name) => found.get(name) ?? [])
  return {
    demo: skills.filter(({ is_fixture: isFixture }) => isFixture),
    own: skills.filter(({ is_fixture: isFixture }) => !isFixture),
  }
}

export interface NamedSkills {
  readonly demo: readonly SkillRow[]
  /** Those that the organization has made, changed or published itself. */
  readonly own: readonly SkillRow[]
}
