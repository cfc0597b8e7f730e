import type { Frontmatter } from '../../jobs/rules/skills/skill-frontmatter.ts'
import type { Band } from '../../jobs/rules/skills/skill.ts'
import { jsonText, onlyRow } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'
import type { SkillVersionRow } from './skill-versions.ts'
import type { SkillRow } from './skills.ts'

/** A skill of an organization as the registry lists it. */
export interface PublishedRow extends Listing {
  url_slug: string
  /** `handle/name` */
  registry_name: string
  current_version: number
  current_version_id: string
  band: Band
  /** 0 to 3. */
  tier: number
  /** Withdrawn by the operator. */
  held_at: Date | null
}

/** By what a published skill is found, besides its name and description. */
export interface Listing {
  readonly category: string | null
  readonly tags: readonly string[]
  readonly author_display_name: string | null
}

/** Undefined for a skill that is not public. */
export async function findPublished(sql: Queryable, orgId: string, skillId: string) {
  const [row] = await sql<PublishedRow[]>`
    select ${columns(sql)} from registry_skills where org_id = ${orgId} and skill_id = ${skillId}`
  return row
}

/** The handle of an organization, which is not changed until the transaction ends. */
export async function lockHandle(tx: Transaction, orgId: string): Promise<string> {
  const rows = await tx<{ handle: string }[]>`
    select handle from organizations where id = ${orgId} for share`
  return onlyRow(rows).handle
}

/**
 * Until the transaction ends nobody else takes one of these as a slug or publishes a skill of that name:
 * requests give either, so that no slug is the name of another public skill. They are locked in one order,
 * so that two who lock several never wait for each other.
 */
export async function lockPublicNames(tx: Transaction, names: readonly string[]) {
  await tx`
    select pg_advisory_xact_lock(hashtextextended('public name ' || name, 0))
    from (
      select distinct name collate "C" as name from unnest(${names as string[]}::text[]) name
      order by name
    ) names`
}

/** The skill of another id, also one that is public no more, that has a slug. */
export async function findSlugHolder(tx: Transaction, slug: string, skillId: string) {
  const [row] = await tx<{ skill_id: string }[]>`
    select skill_id from registry_slugs where url_slug = ${slug} and skill_id <> ${skillId}`
  return row?.skill_id
}

/**
 * Gives a skill the first of these slugs, which the transaction has locked, that no other has and that is no
 * name of another public skill, unless it has one. It is withdrawn as another skill of the organization is
 * that has the first of the slugs or that it is a copy of: publishing the same anew gives nothing back.
 * Until the transaction ends the operator neither withdraws the skill nor gives it back.
 */
export async function keepSlug(
  tx: Transaction,
  orgId: string,
  { id: skillId, forked_from_skill_id: source }: Pick<SkillRow, 'id' | 'forked_from_skill_id'>,
  slugs: readonly string[],
): Promise<void> {
  const kept = await tx`
    select from registry_slugs where org_id = ${orgId} and skill_id = ${skillId} for update`
  if (kept.length > 0) return
  for (const slug of slugs) {
    const taken = await tx`
      insert into registry_slugs (skill_id, org_id, url_slug, held_at, held_note)
      select ${skillId}, ${orgId}, ${slug}, held.held_at, held.held_note
      from (select) one left join lateral (
        select h.held_at, h.held_note from registry_slugs h
        where h.org_id = ${orgId} and h.held_at is not null
          and (h.url_slug = ${slugs[0] ?? slug} or h.skill_id = ${source}::uuid)
        limit 1) held on true
      where not exists (
        select from registry_skills where name = ${slug} and skill_id <> ${skillId})
      on conflict do nothing`
    if (taken.count === 1) return
  }
  throw new Error(`Every slug of skill ${skillId} is taken`)
}

/** Whether another organization has the skill of a version, or the version, in the registry. */
export async function isPublicElsewhere(
  sql: Queryable,
  orgId: string,
  { id, skill_id }: Pick<SkillVersionRow, 'id' | 'skill_id'>,
): Promise<boolean> {
  const rows = await sql`
    select from registry_slugs where skill_id = ${skill_id} and org_id <> ${orgId}
    union all
    select from registry_versions where version_id = ${id} and skill_id <> ${skill_id}`
  return rows.length > 0
}

/**
 * Shows a skill in the registry, which has its slug, or what is said of it now. Of trigger phrases, which
 * are private, its search document has no words. A new version is of now, and has the score computed anew.
 */
export async function upsertPublished(
  tx: Transaction,
  orgId: string,
  version: SkillVersionRow,
  { category, tags, author_display_name }: Listing,
): Promise<PublishedRow> {
  const isSame = tx`r.current_version_id = excluded.current_version_id`
  const rows = await tx<PublishedRow[]>`
    insert into registry_skills as r (skill_id, org_id, url_slug, registry_name, handle, name,
      display_name, description, category, tags, author_display_name, stability, document,
      current_version, current_version_id, band, held_at, install_count)
    select k.id, k.org_id, slug.url_slug, o.handle || '/' || k.name, o.handle, k.name,
      k.display_name, k.description, said.category, said.tags, said.author_display_name, k.stability,
      search_document(concat_ws(' ', replace(k.name, '-', ' '), k.display_name, k.description,
        said.category, array_to_string(said.tags, ' '))),
      v.version_number, v.id, ${version.band}, slug.held_at,
      (select count(*) from registry_installs i where i.skill_id = k.id)
    from skills k
      join organizations o on o.id = k.org_id
      join registry_slugs slug on slug.skill_id = k.id
      join skill_versions v on v.org_id = k.org_id and v.id = ${version.id}
      cross join (select ${category}::text as category, ${tags as string[]}::text[] as tags,
        ${author_display_name}::text as author_display_name) said
    where k.org_id = ${orgId} and k.id = ${version.skill_id}
    on conflict (skill_id) do update set
      display_name = excluded.display_name, description = excluded.description,
      category = excluded.category, tags = excluded.tags,
      author_display_name = excluded.author_display_name, stability = excluded.stability,
      document = excluded.document, current_version = excluded.current_version,
      current_version_id = excluded.current_version_id, band = excluded.band,
      published_at = case when ${isSame} then r.published_at else excluded.published_at end,
      scored_at = case when ${isSame} then r.scored_at end
    returning ${columns(tx)}`
  await tx`
    update skills set visibility = 'public', is_fixture = false
    where org_id = ${orgId} and id = ${version.skill_id}`
  return onlyRow(rows)
}

/**
 * Puts a version with its files into the registry and freezes it. One that is there stays as it is: who
 * installed it has its hash.
 */
export async function insertPublishedVersion(
  tx: Transaction,
  orgId: string,
  { id, band, reason_codes }: SkillVersionRow,
  frontmatter: Frontmatter,
) {
  const inserted = await tx`
    insert into registry_versions (skill_id, version_number, version_id, body, body_sha256,
      change_summary, description, invocation, stability, frontmatter, eval_yaml, band, reason_codes,
      scanner_version)
    select k.id, v.version_number, v.id, v.body, v.body_sha256, v.change_summary, k.description,
      k.invocation, k.stability, ${jsonText(frontmatter)}::text::jsonb, k.eval_yaml, ${band},
      ${reason_codes}::text[], coalesce(scan.scanner_version, 0)
    from skill_versions v join skills k on k.org_id = v.org_id and k.id = v.skill_id
      left join skill_scans scan
        on scan.org_id = v.org_id and scan.version_id = v.id and scan.revision = v.revision
    where v.org_id = ${orgId} and v.id = ${id}
    on conflict (skill_id, version_number) do nothing`
  if (inserted.count === 0) return
  await tx`
    insert into registry_files (skill_id, version_number, path, id, sha256, mode, size_bytes,
      content_type, content)
    select v.skill_id, v.version_number, f.path, f.id, f.sha256, f.mode, f.size_bytes,
      f.content_type, b.content
    from skill_versions v
      join skill_version_files f on f.org_id = v.org_id and f.version_id = v.id
      join skill_blobs b on b.org_id = f.org_id and b.sha256 = f.sha256
    where v.org_id = ${orgId} and v.id = ${id}`
  await tx`
    update skill_versions set frozen_at = coalesce(frozen_at, clock_timestamp())
    where org_id = ${orgId} and id = ${id}`
}

function columns(sql: Queryable) {
  return sql`url_slug, registry_name, category, tags, author_display_name, current_version,
    current_version_id, band, tier, held_at`
}
