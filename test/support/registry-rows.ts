import { randomUUIDv7 } from 'node:crypto'
import { jsonText } from '../../sql/core/db.ts'
import type { Sql } from '../../sql/core/db.ts'

/** A row of `registry_skills`, with one version of the same band. */
export interface RegistryRow {
  readonly skill_id: string
  readonly handle: string
  readonly name: string
  readonly description: string
  readonly category: string | null
  readonly tags: readonly string[]
  readonly band: 'passed' | 'caution' | 'blocked' | 'unreviewed'
  readonly held_at: Date | null
  readonly tier: number
  readonly score: number | null
  readonly rating: number | null
  readonly lift: number | null
  readonly token_saving: number | null
  readonly install_count: number
  readonly published_at: Date
  readonly evidence_at: Date | null
}

/** Public skills of organizations that nothing else is known of, to be listed. Returns their whole rows. */
export async function insertRegistryRows(sql: Sql, rows: readonly Partial<RegistryRow>[]) {
  const whole = rows.map((row, index) => ({ ...defaults(index), ...row }))
  await sql`
    insert into registry_skills (skill_id, org_id, url_slug, registry_name, handle, name, description,
      category, tags, stability, document, current_version, current_version_id, band, held_at, tier,
      score, rating, lift, token_saving, install_count, published_at, evidence_at)
    select skill_id, skill_id, handle || '-' || name, handle || '/' || name, handle, name, description,
      category, tags, 'stable', search_document(replace(name, '-', ' ') || ' ' || description), 1,
      skill_id, band, held_at, tier, score, rating, lift, token_saving, install_count, published_at,
      evidence_at
    from json_populate_recordset(null::registry_skills, ${jsonText(whole)}::text::json)`
  await sql`
    insert into registry_versions (skill_id, version_number, version_id, body, body_sha256,
      description, invocation, stability, frontmatter, band)
    select r.skill_id, 1, r.skill_id, 'The body', sha256('The body'), r.description, 'any', 'stable',
      '{}', r.band
    from registry_skills r
      join json_populate_recordset(null::registry_skills, ${jsonText(whole)}::text::json) w
        using (skill_id)`
  return whole
}

function defaults(index: number): RegistryRow {
  return {
    skill_id: randomUUIDv7(),
    handle: 'acme',
    name: `skill-${index}`,
    description: 'A skill',
    category: null,
    tags: [],
    band: 'passed',
    held_at: null,
    tier: 0,
    score: null,
    rating: null,
    lift: null,
    token_saving: null,
    install_count: 0,
    published_at: new Date('2026-01-01T00:00:00Z'),
    evidence_at: null,
  }
}
