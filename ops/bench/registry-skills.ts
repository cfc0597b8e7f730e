import type { Sql } from '../../sql/core/db.ts'

/** The name by which a skill of the registry is looked up. */
export function registryNameOf(number: number) {
  return `bench-${number % 2}/skill-${number}`
}

/**
 * Fills the registry with skills of two organizations, each with a body of 4 KB and five files. A tenth of
 * them has a score. All have the word common, and one in 150 a word of its own.
 */
export async function fillRegistry(sql: Sql, count: number) {
  await sql`
    insert into registry_skills (skill_id, org_id, url_slug, registry_name, handle, name, description,
      category, tags, stability, document, current_version, current_version_id, band, tier, score,
      evidence_at, install_count, published_at)
    select id, md5(handle)::uuid, handle || '-' || name, handle || '/' || name, handle, name, described,
      'category ' || n % 20, array['tag ' || n % 50], 'stable',
      search_document(replace(name, '-', ' ') || ' ' || described), 1, id, 'passed', tier,
      case when tier > 0 then n % 97 / 97.0 end, case when tier > 0 then now() end, n * 7919 % 1000, now() - n * interval '1 minute'
    from generate_series(0, ${count - 1}::int) n, cast(md5(n::text) as uuid) id,
      cast('bench-' || n % 2 as text) handle, cast('skill-' || n as text) name,
      cast(case when n % 10 = 0 then 1 + n / 10 % 3 else 0 end as int) tier,
      cast('A common skill' || case when n % 150 = 0 then ', rare' || n || 'x' else '' end as text) described`
  await sql`
    insert into registry_versions (skill_id, version_number, version_id, body, body_sha256,
      description, invocation, stability, frontmatter, band)
    select skill_id, 1, skill_id, body, sha256(convert_to(body, 'UTF8')), description, 'any',
      stability, '{"license": "MIT"}', band
    from registry_skills r,
      lateral (select string_agg(md5(r.name || i), ' ') as body from generate_series(1, 124) i) bodies`
  await sql`
    insert into registry_files (skill_id, version_number, path, id, sha256, mode, size_bytes,
      content_type, content)
    select skill_id, 1, 'references/' || i || '.md', gen_random_uuid(), sha256('x'), '0644', 1,
      'text/plain', 'x'
    from registry_skills, generate_series(1, 5) i`
  await sql`vacuum analyze`
}
