// What the door costs: requests a second of an authenticated, rate-limited read against a bare hapi
// route that runs the same query, over the network from this process:
// [DATABASE_URL=...] node ops/bench/door.ts [--seconds 5] [--connections 32]
import { server as hapiServer } from '@hapi/hapi'
import { randomUUIDv7 } from 'node:crypto'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../sql/db.ts'
import { findImport } from '../../sql/imports.ts'
import { median, print } from './figures.ts'
import { measureServer, serveApi } from './http-load.ts'
import { withBenchDatabase } from './prepare.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '32' },
    serve: { type: 'string' },
    url: { type: 'string', default: '' },
  },
})
const ROUNDS = 3

if (values.serve === 'service') await serveApi(values.url)
else if (values.serve === 'bare') await serveBare(values.url)
else await compare()

async function compare() {
  await withBenchDatabase('door', async ({ url, sql, key }) => {
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
    const rates: { bare: number[]; service: number[] } = { bare: [], service: [] }
    for (let round = 0; round < ROUNDS; round++) {
      for (const kind of ['bare', 'service'] as const) {
        const script = [import.meta.filename, '--serve', kind, '--url', url]
        rates[kind].push(await measureServer(script, () => request, readLoad()))
      }
    }
    const [bare, service] = [median(rates.bare), median(rates.service)]
    print([
      {
        bare_requests_s: Math.round(bare),
        service_requests_s: Math.round(service),
        ratio: Math.round((100 * service) / bare) / 100,
      },
    ])
  })
}

function readLoad() {
  return { connections: Number(values.connections), ms: Number(values.seconds) * 1000 }
}

/** The same row, without a key, a limit, or anything that is checked. */
async function serveBare(url: string) {
  const sql = openDatabase(url, { max: 16 })
  const [org] = await sql<{ id: string }[]>`select id from organizations`
  const server = hapiServer({ host: '127.0.0.1', port: 0 })
  server.route({
    method: 'GET',
    path: '/api/v1/import/{id}',
    handler: async (request) =>
      (await findImport(sql, org?.id as string, request.params['id'] as string)) ?? null,
  })
  await server.start()
  process.stdout.write(`${server.info.port}\n`)
}
