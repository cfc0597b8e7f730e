import { randomUUIDv7 } from 'node:crypto'
import type { Scan } from '../../jobs/rules/skills/scan/finding.ts'
import { SCANNER_VERSION } from '../../jobs/rules/skills/scan/scan-skill.ts'
import type { Band } from '../../jobs/rules/skills/skill.ts'
import type { EventType } from '../../jobs/rules/webhooks/webhook-event.ts'
import { jsonText } from '../core/db.ts'
import type { Fragment, Queryable, Transaction } from '../core/db.ts'
import { reviewedBand } from './bands.ts'

/** What a scan looks through, beside the files; of a skill that was not deleted. */
export interface ScannedRow {
  skill_id: string
  revision: number
  name: string
  description: string
  trigger_phrases: string[]
  frontmatter: Record<string, unknown>
  eval_yaml: string | null
  body: string
  change_summary: string | null
  /** Another one when a file comes, goes or changes. */
  files_mark: string | null
  /** What the registry says of the version, where that is something else; its descriptions are one text. */
  published: Pick<ScannedRow, 'description' | 'frontmatter' | 'eval_yaml'> | null
}

export async function findScanned(sql: Queryable, orgId: string, versionId: string) {
  const [row] = await sql<ScannedRow[]>`
    select v.skill_id, v.revision, k.name, k.description, k.trigger_phrases, k.frontmatter, k.eval_yaml,
      v.body, v.change_summary, (
        select md5(string_agg(concat_ws(' ', f.path, encode(f.sha256, 'hex')), E'\n' order by f.path))
        from skill_version_files f where f.org_id = v.org_id and f.version_id = v.id) as files_mark,
      case when p.version_id is not null then json_build_object(
        'description', concat_ws(E'\n', p.description, nullif(listed.description, p.description)),
        'frontmatter', p.frontmatter, 'eval_yaml', p.eval_yaml) end as published
    from skill_versions v join skills k on k.org_id = v.org_id and k.id = v.skill_id
      left join registry_skills listed
        on listed.org_id = v.org_id and listed.skill_id = v.skill_id and listed.current_version_id = v.id
      left join registry_versions p on p.version_id = v.id and p.skill_id = v.skill_id
        and exists (select from registry_skills own
          where own.skill_id = p.skill_id and own.org_id = v.org_id)
        and not (p.description = k.description
          and coalesce(listed.description, k.description) = k.description
          and k.frontmatter @> p.frontmatter and p.eval_yaml is not distinct from k.eval_yaml)
    where v.org_id = ${orgId} and v.id = ${versionId} and k.deleted_at is null`
  return row
}

/** What the scan found that counts for a version; undefined while none does. */
export async function findFindings(
  sql: Queryable,
  orgId: string,
  version: { id: string; revision: number },
) {
  const [row] = await sql<FoundRow[]>`
    select findings, finding_count, scanner_version, scanned_at from skill_scans
    where org_id = ${orgId} and version_id = ${version.id} and revision = ${version.revision}`
  return row
}

interface FoundRow extends Pick<Scan, 'findings' | 'finding_count'> {
  scanner_version: number
  scanned_at: Date
}

/** What is said of a version's safety, and who looks at it. */
export interface SafetyRow {
  skill_id: string
  skill_name: string
  version_id: string
  version: number
  /** By the newest review that counts for its content. */
  reviewed: Exclude<Band, 'unreviewed'> | null
  /** What was last said of it, also of content that it had before. */
  last_band: Exclude<Band, 'unreviewed'> | null
  reason_codes: string[]
  /** As the version before it is shown; null for the first. */
  band_before: Band | null
  is_newest: boolean
  /** It is what the registry shows of the skill. */
  is_public: boolean
  /** The operator withdrew the skill. */
  is_held: boolean
}

export async function findSafety(sql: Queryable, orgId: string, versionId: string) {
  const [row] = await sql<SafetyRow[]>`
    select v.skill_id, k.name as skill_name, v.id as version_id, v.version_number as version,
      own.reviewed, own.last_band, coalesce(own.reason_codes, '{}') as reason_codes,
      case when former.id is not null then coalesce(former.last_band, 'unreviewed')
        end as band_before,
      not exists (select from skill_versions n where n.org_id = v.org_id and n.skill_id = v.skill_id
        and n.version_number > v.version_number) as is_newest,
      coalesce(r.current_version_id = v.id, false) as is_public,
      r.held_at is not null as is_held
    from skill_versions v join skills k on k.org_id = v.org_id and k.id = v.skill_id
      left join registry_skills r on r.org_id = v.org_id and r.skill_id = v.skill_id
      cross join lateral (${saidOf(sql, sql`v`)}) own
      left join lateral (
        select p.id, said.* from skill_versions p cross join lateral (${saidOf(sql, sql`p`)}) said
        where p.org_id = v.org_id and p.skill_id = v.skill_id and p.version_number < v.version_number
        order by p.version_number desc limit 1) former on true
    where v.org_id = ${orgId} and v.id = ${versionId} and k.deleted_at is null`
  return row
}

/** The review of a version that counts, and what was last said of it, by a review since the last scan or it. */
function saidOf(sql: Queryable, version: Fragment) {
  return sql`
    select ${reviewedBand(sql, version)} as reviewed,
      coalesce(${reviewedBand(sql, version, sql`coalesce(s.revision, 0)`)}, s.band) as last_band,
      s.reason_codes
    from (select) one left join skill_scans s
      on s.org_id = ${version}.org_id and s.version_id = ${version}.id`
}

/**
 * Stores what a scan found. False, and nothing is stored, when a later scanner has looked at these files
 * already: a worker of the release before may still run.
 */
export async function upsertScan(
  tx: Transaction,
  orgId: string,
  version: { id: string; skillId: string; revision: number },
  { band, reason_codes, findings, finding_count }: Scan,
): Promise<boolean> {
  const stored = await tx`
    insert into skill_scans (org_id, version_id, revision, scanner_version, band, reason_codes,
      findings, finding_count)
    values (${orgId}, ${version.id}, ${version.revision}, ${SCANNER_VERSION}, ${band},
      ${reason_codes}::text[], ${jsonText(findings)}::text::jsonb, ${finding_count})
    on conflict (org_id, version_id) do update set
      revision = excluded.revision, scanner_version = excluded.scanner_version,
      band = excluded.band, reason_codes = excluded.reason_codes, findings = excluded.findings,
      finding_count = excluded.finding_count, scanned_at = excluded.scanned_at
    where skill_scans.revision < excluded.revision
      or skill_scans.scanner_version <= excluded.scanner_version`
  if (stored.count === 0) return false
  await tx`
    update skills k set scanner_version = ${SCANNER_VERSION}
    where k.org_id = ${orgId} and k.id = ${version.skillId} and not exists (
      select from skill_versions n join skill_versions v
        on v.org_id = n.org_id and v.skill_id = n.skill_id and v.version_number < n.version_number
      where n.org_id = ${orgId} and n.skill_id = ${version.skillId} and v.id = ${version.id})`
  await tx`
    update registry_versions set scanner_version = ${SCANNER_VERSION}
    where version_id = ${version.id} and skill_id in (
      select skill_id from registry_skills where org_id = ${orgId})`
  return true
}

/** Stores what the operator decided of a version as it is now. */
export async function insertReview(
  tx: Transaction,
  orgId: string,
  review: { versionId: string; band: Band; note: string; reviewedBy: string },
) {
  const { versionId, band, note, reviewedBy } = review
  await tx`
    insert into skill_reviews (org_id, id, version_id, revision, band, note, reviewed_by)
    select org_id, ${randomUUIDv7()}, id, revision, ${band}, ${note}, ${reviewedBy}
    from skill_versions where org_id = ${orgId} and id = ${versionId}`
}

/** Shows in the registry what is now said of a version, where its organization has it public: others may have its id. */
export async function updatePublicBand(
  tx: Transaction,
  orgId: string,
  versionId: string,
  { band, reason_codes }: { band: Band; reason_codes: readonly string[] },
) {
  await tx`
    with shown as (
      update registry_versions set band = ${band}, reason_codes = ${reason_codes as string[]}::text[]
      where version_id = ${versionId} and skill_id in (
        select skill_id from registry_skills where org_id = ${orgId})
      returning skill_id)
    update registry_skills r set band = ${band}
    from shown where r.skill_id = shown.skill_id and r.current_version_id = ${versionId}`
}

/**
 * The organizations that installed a published skill, but for its owner, and that have this event sent to
 * them; by id, those after one.
 */
export async function listToldInstallers(
  sql: Queryable,
  skillId: string,
  {
    ownerId,
    event,
    after,
    limit,
  }: { ownerId: string; event: EventType; after: string | null; limit: number },
): Promise<string[]> {
  const rows = await sql<{ org_id: string }[]>`
    select i.org_id
    from registry_installs i join notification_settings n on n.org_id = i.org_id
    where i.skill_id = ${skillId} and i.org_id <> ${ownerId}
      ${after === null ? sql`` : sql`and i.org_id > ${after}`}
      and n.webhook_url is not null
      and (n.events is null or ${event} = any(n.events))
    order by i.org_id limit ${limit}`
  return rows.map(({ org_id }) => org_id)
}

/**
 * Versions that only an earlier scanner looked at, or none although they are an hour old: what is public,
 * that which the registry shows and which was installed last first, and then the newest version of each
 * other skill.
 */
export async function listRescans(sql: Queryable, limit: number) {
  return sql<{ org_id: string; version_id: string }[]>`
    (select r.org_id, p.version_id
      from registry_versions p join registry_skills r on r.skill_id = p.skill_id
      where p.scanner_version < ${SCANNER_VERSION}
      order by p.version_id <> r.current_version_id,
        (select max(i.created_at) from registry_installs i where i.skill_id = r.skill_id)
          desc nulls last, p.version_id
      limit ${limit})
    union all
    (select k.org_id, v.id
      from skills k cross join lateral (
        select n.id, n.created_at from skill_versions n
        where n.org_id = k.org_id and n.skill_id = k.id
        order by n.version_number desc limit 1) v
      where k.deleted_at is null and k.scanner_version < ${SCANNER_VERSION}
        and v.created_at < clock_timestamp() - interval '1 hour'
      limit ${limit})
    limit ${limit}`
}
