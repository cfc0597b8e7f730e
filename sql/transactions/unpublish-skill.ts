import type { Transaction } from '../core/db.ts'

/**
 * Takes a skill, which the transaction has locked, out of the registry. Its public name stays its own, and
 * copies elsewhere stay. Returns whether it was there.
 */
export async function unpublishSkill(tx: Transaction, orgId: string, skillId: string) {
  const removed = await tx`
    with removed as (
      delete from registry_skills where org_id = ${orgId} and skill_id = ${skillId} returning skill_id
    )
    update skills s set visibility = 'private'
    from removed where s.org_id = ${orgId} and s.id = removed.skill_id`
  return removed.count === 1
}
