// How long resolving 100 skills of a large registry takes, with their files, one request after the other;
// beside reading one row by its key:
// [DATABASE_URL=...] node ops/bench/resolve.ts [--skills 10000] [--requests 200] [--smoke]
import { createApi } from '../../api/server.ts'
import type { Sql } from '../../sql/core/db.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../context.ts'
import { print, quantile, report, round } from './figures.ts'
import { readOptions } from './options.ts'
import { openBenchFolder, withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'

const ITEMS = 100

const { skills, requests } = readOptions({ skills: [10_000, 200], requests: [200, 5] })
await withBenchDatabase('resolve', measure)

async function measure({ url, sql, key }: Bench) {
  await fillRegistry(sql, skills)
  await using folder = await openBenchFolder('resolve')
  const opened = await openApiContext(
    readConfig({ DATA_DIR: folder.path, LOG_LEVEL: 'error' }),
    url,
  )
  const api = await createApi(opened.context)
  // All over the registry.
  const refOf = (number: number) => `bench/skill-${(number * 7919) % skills}`
  const resolved = await time(requests, async (request) => {
    const items = Array.from({ length: ITEMS }, (_, index) => ({
      ref: refOf(request * ITEMS + index),
    }))
    const { statusCode } = await api.inject({
      method: 'POST',
      url: '/api/v1/registry/install/resolve',
      headers: { authorization: `Bearer ${key}` },
      payload: { items },
    })
    if (statusCode !== 200) throw new Error(`Resolving answered ${statusCode}`)
  })
  const read = await time(requests * ITEMS, async (number) => {
    await sql`select * from registry_skills where registry_name = ${refOf(number)}`
  })
  await api.stop()
  await opened.close()
  print([
    { what: `resolving ${ITEMS} skills`, ...resolved },
    { what: 'one indexed read', ...read },
  ])
  report({
    what: `resolving ${ITEMS} skills`,
    ratio: round(resolved.p95_ms / read.p95_ms),
    figures: `p95 ${resolved.p95_ms} ms against ${read.p95_ms} ms`,
  })
}

/** How long runs take, one after the other. */
async function time(times: number, run: (number: number) => Promise<void>) {
  const spentMs: number[] = []
  for (let number = 0; number < times; number++) {
    const since = performance.now()
    await run(number)
    spentMs.push(performance.now() - since)
  }
  return { p50_ms: round(quantile(spentMs, 0.5)), p95_ms: round(quantile(spentMs, 0.95)) }
}

/** Public skills, each with a body of 4 KB and five files. */
async function fillRegistry(sql: Sql, count: number) {
  await sql`
    insert into registry_skills (skill_id, org_id, url_slug, registry_name, handle, name, description,
      stability, document, current_version, current_version_id, band)
    select id, gen_random_uuid(), 'bench-skill-' || n, 'bench/skill-' || n, 'bench', 'skill-' || n,
      'A skill', 'stable', '', 1, id, 'passed'
    from generate_series(0, ${count - 1}::int) n, cast(md5(n::text) as uuid) id`
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
