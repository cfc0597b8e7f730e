// What authentication costs: requests a second of an authenticated, rate-limited read against a bare hapi
// route that runs the same query, over the network from this process:
// [DATABASE_URL=...] node ops/bench/auth.ts [--seconds 5] [--connections 32]
import { randomUUIDv7 } from 'node:crypto'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../sql/core/db.ts'
import { findImport } from '../../sql/import/imports.ts'
import { print, round } from './figures.ts'
import { compareServers, LOAD_OPTIONS, serveApi, serveBare } from './http-load.ts'
import { withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'

const { values } = parseArgs({ options: LOAD_OPTIONS })

if (values.serve === 'service') await serveApi(values.url)
else if (values.serve === 'bare') await serveQuery(values.url)
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
  const load = { ...values, url }
  const { bare, service } = await compareServers(import.meta.filename, load, () => request)
  print([
    {
      bare_requests_s: Math.round(bare),
      service_requests_s: Math.round(service),
      ratio: round(service / bare),
    },
  ])
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
