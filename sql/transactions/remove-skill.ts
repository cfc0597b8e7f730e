import type { Transaction } from '../core/db.ts'
import { deleteSkill } from '../skills/skills.ts'
import { unpublishSkill } from './unpublish-skill.ts'

/**
 * Deletes a skill that the transaction has locked: it is public no more, no agent of the organization uses
 * it, and what it is a copy of can be installed again. Copies elsewhere stay. Returns whether it was public.
 */
export async function removeSkill(tx: Transaction, orgId: string, skillId: string) {
  const wasPublic = await unpublishSkill(tx, orgId, skillId)
  await deleteSkill(tx, orgId, skillId)
  return wasPublic
}
