import type { Transaction } from '../core/db.ts'

/**
 * Deletes the skills that have no version: the backup that brought them broke off before these. Nothing else
 * makes a skill without one.
 */
export async function deleteVersionlessSkills(tx: Transaction, orgId: string) {
  await tx`
    delete from skills s where org_id = ${orgId} and deleted_at is null and not exists (
      select from skill_versions v where v.org_id = s.org_id and v.skill_id = s.id)`
}
