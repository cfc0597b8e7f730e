import { createHash, randomUUIDv7 } from 'node:crypto'
import type { Band, Invocation } from '../../jobs/rules/skills/skill.ts'
import type { Sql } from '../../sql/core/db.ts'
import { insertVersions } from '../../sql/skills/skill-versions.ts'
import { insertSkills } from '../../sql/skills/skills.ts'

export interface MadeSkill {
  readonly orgId: string
  readonly id: string
  /** By number from 1. */
  readonly versionIds: readonly string[]
}

export interface MadeVersion {
  readonly body: string
  readonly band?: Band
  /** Content by path. */
  readonly files?: Readonly<Record<string, string>>
}

interface Details {
  readonly name: string
  readonly description?: string
  readonly invocation?: Invocation
  readonly stability?: 'stable' | 'deprecated'
  readonly frontmatter?: Record<string, unknown>
  readonly forkOf?: MadeSkill
}

/** An organization's skill with its versions, of which none was scanned unless it has a band. */
export async function makeSkill(
  sql: Sql,
  orgId: string,
  details: Details,
  versions: readonly MadeVersion[] = [{ body: `The body of ${details.name}` }],
): Promise<MadeSkill> {
  const id = randomUUIDv7()
  const versionIds = versions.map(() => randomUUIDv7())
  const { name, description = name, invocation = 'any', stability = 'stable', forkOf } = details
  await sql.begin(async (tx) => {
    await insertSkills(tx, orgId, [
      {
        id,
        name,
        description,
        invocation,
        stability,
        frontmatter: details.frontmatter ?? {},
        display_name: null,
        category: null,
        trigger_phrases: [],
        eval_yaml: null,
        forked_from_skill_id: forkOf?.id ?? null,
        forked_at_version_id: forkOf?.versionIds.at(-1) ?? null,
        is_fixture: false,
        created_by: null,
      },
    ])
    for (const [index, version] of versions.entries()) {
      const versionId = versionIds[index] ?? ''
      await insertVersions(tx, orgId, [
        {
          id: versionId,
          skill_id: id,
          version_number: index + 1,
          body: version.body,
          change_summary: null,
          author: null,
          origin: index === 0 ? 'create' : 'sync',
          parent_version_id: versionIds[index - 1] ?? null,
          restored_from_version_id: null,
        },
      ])
      for (const [path, content] of Object.entries(version.files ?? {})) {
        const bytes = Buffer.from(content)
        await tx`
          insert into skill_blobs (org_id, sha256, content)
          values (${orgId}, ${sha256(bytes)}, ${bytes}) on conflict do nothing`
        await tx`
          insert into skill_version_files (org_id, version_id, path, id, sha256, mode, size_bytes,
            content_type)
          values (${orgId}, ${versionId}, ${path}, ${randomUUIDv7()}, ${sha256(bytes)}, '0644',
            ${bytes.length}, 'text/plain')`
      }
      if (version.band === undefined || version.band === 'unreviewed') continue
      await tx`
        insert into skill_scans (org_id, version_id, revision, scanner_version, band, reason_codes,
          findings, finding_count)
        values (${orgId}, ${versionId}, 0, 1, ${version.band}, '{}', '[]', 0)`
    }
  })
  return { orgId, id, versionIds }
}

/** Puts the first versions of a skill into the registry, as they are. @param count default all */
export async function publishSkill(
  sql: Sql,
  { orgId, id, versionIds }: MadeSkill,
  { count = versionIds.length, slug }: { count?: number; slug?: string } = {},
) {
  await sql.begin(async (tx) => {
    await tx`update skills set visibility = 'public' where org_id = ${orgId} and id = ${id}`
    await tx`
      insert into registry_slugs (skill_id, org_id, url_slug)
      select k.id, k.org_id, coalesce(${slug ?? null}, o.handle || '-' || k.name)
      from skills k join organizations o on o.id = k.org_id
      where k.org_id = ${orgId} and k.id = ${id}`
    await tx`
      insert into registry_skills (skill_id, org_id, url_slug, registry_name, handle, name, description,
        stability, document, current_version, current_version_id, band)
      select k.id, k.org_id, s.url_slug, o.handle || '/' || k.name, o.handle, k.name, k.description,
        k.stability, k.document, ${count}, ${versionIds[count - 1] ?? null}, 'passed'
      from skills k join organizations o on o.id = k.org_id join registry_slugs s on s.skill_id = k.id
      where k.org_id = ${orgId} and k.id = ${id}`
    await tx`
      insert into registry_versions (skill_id, version_number, version_id, body, body_sha256,
        description, invocation, stability, frontmatter, band)
      select k.id, v.version_number, v.id, v.body, v.body_sha256, k.description, k.invocation,
        k.stability, k.frontmatter, coalesce(c.band, 'passed')
      from skills k join skill_versions v on v.org_id = k.org_id and v.skill_id = k.id
        left join skill_scans c on c.org_id = v.org_id and c.version_id = v.id
      where k.org_id = ${orgId} and k.id = ${id} and v.version_number <= ${count}`
    await tx`
      insert into registry_files (skill_id, version_number, path, id, sha256, mode, size_bytes,
        content_type, content)
      select v.skill_id, v.version_number, f.path, f.id, f.sha256, f.mode, f.size_bytes, f.content_type,
        b.content
      from skill_versions v
        join skill_version_files f on f.org_id = v.org_id and f.version_id = v.id
        join skill_blobs b on b.org_id = f.org_id and b.sha256 = f.sha256
      where v.org_id = ${orgId} and v.skill_id = ${id} and v.version_number <= ${count}`
  })
}

/** Gives an organization the handle by which its skills are named. */
export async function nameOrganization(sql: Sql, orgId: string, handle: string) {
  await sql`update organizations set handle = ${handle} where id = ${orgId}`
}

/** Has an agent use a skill. @param versionId null for the latest */
export async function assignSkill(
  sql: Sql,
  org: { orgId: string; projectId: string },
  agentName: string,
  skill: MadeSkill,
  versionId: string | null = null,
) {
  await sql`
    insert into skill_assignments (org_id, project_id, agent_name, skill_id, version_id)
    values (${org.orgId}, ${org.projectId}, ${agentName}, ${skill.id}, ${versionId})`
}

function sha256(bytes: Buffer) {
  return createHash('sha256').update(bytes).digest()
}
