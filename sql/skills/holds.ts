import type { Queryable, Transaction } from '../core/db.ts'

/** Whose skill an operator means by an id alone: of one that is public or was. */
export async function findSkillOwner(sql: Queryable, skillId: string): Promise<string | undefined> {
  const [row] = await sql<{ org_id: string }[]>`
    select org_id from registry_slugs where skill_id = ${skillId}`
  return row?.org_id
}

/**
 * Who has a version of this id; those who restored it from a backup of another have it too.
 * @param orgId the only organization that is meant; undefined for all
 * @returns two at most
 */
export async function listVersionOwners(
  sql: Queryable,
  versionId: string,
  orgId?: string,
): Promise<readonly string[]> {
  const rows = await sql<{ org_id: string }[]>`
    select org_id from skill_versions
    where id = ${versionId} and (${orgId ?? null}::uuid is null or org_id = ${orgId ?? null})
    order by org_id limit 2`
  return rows.map(({ org_id }) => org_id)
}

/**
 * Withdraws a skill from the registry, or gives it back. It stays withdrawn when its owner publishes it anew,
 * also in a skill of the same name or in a copy.
 * @param note why it is withdrawn; null to give it back
 */
export async function holdSkill(tx: Transaction, orgId: string, id: string, note: string | null) {
  const [held] = await tx<{ held_at: Date | null; url_slug: string }[]>`
    update registry_slugs
    set held_note = ${note}::text,
      held_at = case when ${note}::text is not null then coalesce(held_at, clock_timestamp()) end
    where org_id = ${orgId} and skill_id = ${id}
    returning held_at, url_slug`
  await tx`
    update registry_skills set held_at = ${held?.held_at ?? null}
    where org_id = ${orgId} and skill_id = ${id}`
  return held
}
