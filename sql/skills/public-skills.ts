import { isUuid } from '../../jobs/rules/core/uuid.ts'
import { foldReference } from '../../jobs/rules/skills/skill-lookup.ts'
import type { Invocation, Stability } from '../../jobs/rules/skills/skill.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import { shownVersion } from './shown-versions.ts'
import { lockBlobs } from './skill-blobs.ts'

/** A version of a public skill that may be copied: not blocked, and not withdrawn by the operator. */
export interface PublicSkillRow {
  skill_id: string
  org_id: string
  /** The part of its public name that it has in its organization. */
  name: string
  url_slug: string
  display_name: string | null
  category: string | null
  version_id: string
  version_number: number
  body: string
  body_sha256: Buffer
  change_summary: string | null
  description: string
  invocation: Invocation
  stability: Stability
  frontmatter: Record<string, unknown>
  eval_yaml: string | null
}

/**
 * A public skill in its newest version, or in the one of this number or id.
 * @param reference its id, its slug, or `handle/name`
 * @param version default the newest
 */
export async function findPublicSkill(
  sql: Queryable,
  reference: string,
  version?: { readonly number: number } | { readonly id: string },
) {
  const which =
    version === undefined
      ? undefined
      : 'id' in version
        ? sql`n.version_id = ${version.id}`
        : sql`n.version_number = ${version.number}`
  const [row] = await sql<PublicSkillRow[]>`
    select r.skill_id, r.org_id, r.name, r.url_slug, r.display_name, r.category, v.version_id,
      v.version_number, v.body, v.body_sha256, v.change_summary, v.description, v.invocation,
      v.stability, v.frontmatter, v.eval_yaml
    from registry_skills r ${shownVersion(sql, which)}
    where ${answersTo(sql, reference)} and r.held_at is null`
  return row
}

/**
 * The condition that row `r` of `registry_skills` is the skill that a reference names, in any case and
 * width: by its id, its slug, or `handle/name`.
 */
export function answersTo(sql: Queryable, reference: string) {
  const folded = foldReference(reference)
  if (isUuid(folded)) return sql`r.skill_id = ${folded}`
  return folded.includes('/') ? sql`r.registry_name = ${folded}` : sql`r.url_slug = ${folded}`
}

/**
 * Whether a version is still public, and then until the transaction ends: else its files could be gone when
 * they are copied after its body. Taken after the names of skills are locked.
 */
export async function lockPublicVersion(tx: Transaction, versionId: string) {
  // The skill first, as where it is deleted with its versions.
  const locked = await tx`
    select from registry_skills r join registry_versions v using (skill_id)
    where v.version_id = ${versionId} for key share`
  return locked.length === 1
}

/** Whether a version has the files of a public one, and no others; false where either is not there. */
export async function hasFilesOf(
  sql: Queryable,
  orgId: string,
  versionId: string,
  publicVersionId: string,
) {
  const [row] = await sql<{ is_same: boolean }[]>`
    select exists (
      select from skill_versions where org_id = ${orgId} and id = ${versionId}
    ) and exists (
      select from registry_versions where version_id = ${publicVersionId}
    ) and not exists (
      select from (
        select path, sha256, mode from skill_version_files
        where org_id = ${orgId} and version_id = ${versionId}) own
      full join (
        select f.path, f.sha256, f.mode
        from registry_versions v join registry_files f using (skill_id, version_number)
        where v.version_id = ${publicVersionId}) theirs
        using (path, sha256, mode)
      where own is null or theirs is null) as is_same`
  return row?.is_same === true
}

/** Gives a version, which the transaction made, the files of a public one instead of those it has. */
export async function takeFilesOf(
  tx: Transaction,
  orgId: string,
  versionId: string,
  { skill_id, version_number }: PublicVersion,
) {
  const files = tx`registry_files f
    where f.skill_id = ${skill_id} and f.version_number = ${version_number}`
  await lockBlobs(tx, orgId)
  await tx`delete from skill_version_files where org_id = ${orgId} and version_id = ${versionId}`
  // The update of an equal blob holds it against retention until the file is there.
  await tx`
    insert into skill_blobs (org_id, sha256, content)
    select distinct on (f.sha256) ${orgId}::uuid, f.sha256, f.content from ${files}
    order by f.sha256
    on conflict (org_id, sha256) do update set released_at = null`
  await tx`
    insert into skill_version_files (org_id, version_id, path, id, sha256, mode, size_bytes,
      content_type)
    select ${orgId}, ${versionId}, f.path, f.id, f.sha256, f.mode, f.size_bytes, f.content_type
    from ${files}`
}

/**
 * Until the transaction ends no other one installs this public skill in the organization. Taken before the
 * names of skills are locked.
 */
export async function lockInstall(tx: Transaction, orgId: string, skillId: string) {
  const key = `skill install ${orgId} ${skillId}`
  await tx`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`
}

/** Notes and counts the organization's installation of a public skill; it has no other one. */
export async function insertInstall(
  tx: Transaction,
  orgId: string,
  skillId: string,
  forkId: string,
) {
  await tx`
    with installed as (
      insert into registry_installs (skill_id, org_id, fork_skill_id)
      values (${skillId}, ${orgId}, ${forkId})
    )
    update registry_skills set install_count = install_count + 1 where skill_id = ${skillId}`
}

/**
 * Forgets the organization's installations of public skills, and counts them out there.
 * @param forkId only the one that is this skill; default all
 */
export async function deleteInstalls(tx: Transaction, orgId: string, forkId?: string) {
  const installs = tx`registry_installs
    where org_id = ${orgId} ${forkId === undefined ? tx`` : tx`and fork_skill_id = ${forkId}`}`
  // Who publishes one of them again counts its installations: it waits, or is waited for.
  await tx`
    select from registry_slugs where skill_id in (select skill_id from ${installs})
    order by skill_id for key share`
  await tx`
    select from registry_skills where skill_id in (select skill_id from ${installs})
    order by skill_id for no key update`
  await tx`
    with uninstalled as (
      delete from ${installs} returning skill_id
    )
    update registry_skills r set install_count = install_count - 1
    from uninstalled where r.skill_id = uninstalled.skill_id`
}

/** The skill that is the organization's installation of a public one. */
export async function findInstalled(sql: Queryable, orgId: string, skillId: string) {
  const [row] = await sql<{ id: string; name: string }[]>`
    select s.id, s.name from registry_installs i
      join skills s on s.org_id = i.org_id and s.id = i.fork_skill_id and s.deleted_at is null
    where i.org_id = ${orgId} and i.skill_id = ${skillId}`
  return row
}

/** What the organization's installations of public skills are called, by the ids of these. */
export async function findInstalledNames(
  sql: Queryable,
  orgId: string,
  skillIds: readonly string[],
) {
  const rows = await sql<{ skill_id: string; name: string }[]>`
    select i.skill_id, s.name from registry_installs i
      join skills s on s.org_id = i.org_id and s.id = i.fork_skill_id and s.deleted_at is null
    where i.org_id = ${orgId} and i.skill_id = any(${skillIds as string[]}::uuid[])`
  return new Map(rows.map(({ skill_id, name }) => [skill_id, name]))
}

type PublicVersion = Pick<PublicSkillRow, 'skill_id' | 'version_number'>
