import type { ManifestKey } from '../../jobs/rules/import/backup/member.ts'
import type { Queryable } from '../core/db.ts'

/** Whose rows a restore may write to. */
export interface RestoreScope {
  readonly orgId: string
  /** The only workspace; null for all. */
  readonly workspaceId: string | null
  /** The only project; null for all. */
  readonly projectId: string | null
}

/** What the key may write that asked for a restore; undefined for one that was revoked. */
export async function findRestoreScope(
  sql: Queryable,
  orgId: string,
  keyId: string,
): Promise<(RestoreScope & { readonly isAdmin: boolean }) | undefined> {
  const [key] = await sql<
    { isAdmin: boolean; workspaceId: string | null; projectId: string | null }[]
  >`
    select scope = 'global' and permissions = 'admin' as "isAdmin",
      case when scope = 'workspace' then workspace_id end as "workspaceId", project_id as "projectId"
    from api_keys where org_id = ${orgId} and id = ${keyId} and revoked_at is null`
  return key && { orgId, ...key }
}

/** Ids of the projects with these names that are within the scope, by name. */
export async function findProjects(
  sql: Queryable,
  { orgId, workspaceId, projectId }: RestoreScope,
  names: readonly string[],
) {
  const rows = await sql<Named[]>`
    select name, id from projects where org_id = ${orgId} and name = any(${names}::text[])
      and (${workspaceId}::uuid is null or workspace_id = ${workspaceId})
      and (${projectId}::uuid is null or id = ${projectId})`
  return byName(rows)
}

export async function findWorkspaces(sql: Queryable, orgId: string, names: readonly string[]) {
  return byName(
    await sql<Named[]>`
      select name, id from workspaces where org_id = ${orgId} and name = any(${names}::text[])`,
  )
}

export async function findSkills(sql: Queryable, orgId: string, names: readonly string[]) {
  return byName(
    await sql<Named[]>`
      select name, id from skills
      where org_id = ${orgId} and name = any(${names}::text[]) and deleted_at is null`,
  )
}

/** Ids of versions of skills that are not deleted. @returns by name and number, as `versionText` writes them */
export async function findSkillVersions(
  sql: Queryable,
  orgId: string,
  versions: readonly NamedVersion[],
) {
  const rows = await sql<(NamedVersion & { id: string })[]>`
    select s.name as skill, v.version_number as number, v.id
    from ${named(sql, versions)}
    join skills s on s.org_id = ${orgId} and s.name = w.skill and s.deleted_at is null
    join skill_versions v on v.org_id = s.org_id and v.skill_id = s.id
      and v.version_number = w.version_number`
  return new Map(rows.map((row) => [versionText(row), row.id]))
}

/** Ids of skills that are public or were, by the public names that they keep. */
export async function findPublicSkills(sql: Queryable, slugs: readonly string[]) {
  return byName(
    await sql<Named[]>`
      select url_slug as name, skill_id as id from registry_slugs
      where url_slug = any(${slugs}::text[])`,
  )
}

/** Ids of versions that are public. @returns by public name and number, as `versionText` writes them */
export async function findPublicVersions(sql: Queryable, versions: readonly NamedVersion[]) {
  const rows = await sql<(NamedVersion & { id: string })[]>`
    select g.url_slug as skill, v.version_number as number, v.version_id as id
    from ${named(sql, versions)}
    join registry_slugs g on g.url_slug = w.skill
    join registry_versions v on v.skill_id = g.skill_id and v.version_number = w.version_number`
  return new Map(rows.map((row) => [versionText(row), row.id]))
}

function named(sql: Queryable, versions: readonly NamedVersion[]) {
  return sql`(
    select distinct * from unnest(${versions.map(({ skill }) => skill)}::text[],
      ${versions.map(({ number }) => number)}::int[]) as w (skill, version_number)) w`
}

export function versionText({ skill, number }: NamedVersion) {
  return JSON.stringify([skill, number])
}

/** A version of a skill, which is named as it is in the organization, or in public. */
export interface NamedVersion {
  readonly skill: string
  readonly number: number
}

/** Ids of datasets. @returns by project id and name, as `datasetText` writes them */
export async function findDatasets(
  sql: Queryable,
  orgId: string,
  datasets: readonly { readonly projectId: string; readonly name: string }[],
) {
  const rows = await sql<{ projectId: string; name: string; id: string }[]>`
    select d.project_id as "projectId", d.name, d.id
    from (
      select distinct * from unnest(${datasets.map(({ projectId }) => projectId)}::uuid[],
        ${datasets.map(({ name }) => name)}::text[]) as w (project_id, name)) w
    join datasets d on d.org_id = ${orgId} and d.project_id = w.project_id and d.name = w.name`
  return new Map(rows.map((row) => [datasetText(row), row.id]))
}

export function datasetText({ projectId, name }: { projectId: string; name: string }) {
  return `${projectId} ${name}`
}

/** Ids of manifests. @returns by project id, agent and hash, as `manifestText` writes them */
export async function findManifestIds(
  sql: Queryable,
  orgId: string,
  manifests: readonly NamedManifest[],
) {
  const rows = await sql<(NamedManifest & { id: string })[]>`
    select m.project_id as "projectId", m.agent_name, m.manifest_hash, m.id
    from (
      select distinct * from unnest(${manifests.map(({ projectId }) => projectId)}::uuid[],
        ${manifests.map(({ agent_name }) => agent_name)}::text[],
        ${manifests.map(({ manifest_hash }) => manifest_hash)}::text[])
        as w (project_id, agent_name, manifest_hash)) w
    join manifests m on m.org_id = ${orgId} and m.project_id = w.project_id
      and m.agent_name = w.agent_name and m.manifest_hash = w.manifest_hash`
  return new Map(rows.map((row) => [manifestText(row), row.id]))
}

export function manifestText({ projectId, agent_name, manifest_hash }: NamedManifest) {
  return JSON.stringify([projectId, agent_name, manifest_hash])
}

export type NamedManifest = ManifestKey & { readonly projectId: string }

function byName(rows: readonly Named[]): ReadonlyMap<string, string> {
  return new Map(rows.map(({ name, id }) => [name, id]))
}

interface Named {
  readonly name: string
  readonly id: string
}
