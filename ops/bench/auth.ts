// What authentication costs: requests a second of an authenticated, rate-limited read against a bare hapi
// route that runs the same query, over the network from this process:
// [DATABASE_URL=...] node ops/bench/auth.ts [--seconds 5] [--connections 32] [--smoke]
import { randomUUIDv7 } from 'node:crypto'
import { openDatabase } from '../../sql/core/db.ts'
import { findImport } from '../../sql/import/imports.ts'
import { print, report, round, whole } from './figures.ts'
import { compareServers, LOAD_SIZES, serveApi, serveBare, SERVER_OPTIONS } from './http-load.ts'
import { readOptions } from './options.ts'
import { withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'

const options = readOptions(LOAD_SIZES, SERVER_OPTIONS)

if (options.serve === 'service') await serveApi(options.url)
else if (options.serve === 'bare') await serveQuery(options.url)
else await withBenchDatabase('auth', compare)

async function compare({ url, sql, key }: Bench) {
  const id = randomUUIDv7()
  await sql`
    with job as (
      insert into jobs (org_id, id, kind, queue_job_id)
      select id, ${id}, 'import.run', ${randomUUIDv7()} from organizations
    )
    insert into imports (org_id, project_id, id, job_id, source, bytes_total, created_at)
    select org_id, id, ${id}, ${id}, 'auto', 0, now() from projects`
  const request = Buffer.from(
    `GET /api/v1/import/${id} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  )
  const load = { ...options, url }
  const { bare, service } = await compareServers(import.meta.filename, load, () => request)
  print([
    {
      bare_requests_s: Math.round(bare),
      service_requests_s: Math.round(service),
      ratio: round(service / bare),
    },
  ])
  report({
    what: 'an authenticated read',
    ratio: round(service / bare),
    figures: `${whole(service)} against ${whole(bare)} a second`,
  })
}

/** The same row, without a key, a limit, or anything that is checked. */
async function serveQuery(url: string) {
  const sql = openDatabase(url, { max: 16 })
  const [org = { id: '' }] = await sql<{ id: string }[]>`select id from organizations`
  await serveBare([
    {
      method: 'GET',
      path: '/api/v1/import/{id}',
      handler: async ({ params }) => (await findImport(sql, org.id, String(params['id']))) ?? null,
    },
  ])
}
