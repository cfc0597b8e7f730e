import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createApi } from '../../api/server.ts'
import { readConfig } from '../../ops/config.ts'
import { openApiContext } from '../../ops/api-context.ts'
import { migrateAll } from '../../ops/migrate.ts'
import { startPostgres } from '../../ops/postgres.ts'
import { openDatabase } from '../../sql/core/db.ts'
import { makeOrganization } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('while the database is away', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'adl-away-'))
  // The user that PostgreSQL runs as has to get in.
  await chmod(dataDir, 0o755)
  const settings = { fsync: 'off' }
  const cluster = { dataDir: join(dataDir, 'postgres'), settings }
  const first = await startPostgres(cluster)
  const stops = [first.stop]
  t.teardown(async () => {
    for (const stop of stops) await stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  const port = Number(new URL(first.url).port)
  await migrateAll(first.url, { warn: () => undefined })
  const setup = openDatabase(first.url)
  const { key } = await makeOrganization(setup, 'enterprise')
  await setup.end()

  const opened = await openApiContext(
    readConfig({ DATA_DIR: dataDir, LOG_LEVEL: 'silent' }),
    first.url,
  )
  const server = await createApi(opened.context)
  t.teardown(async () => {
    await server.stop()
    await opened.close()
  })
  const ask = (method: string, url: string, payload?: object) =>
    server.inject({
      method,
      url,
      headers: { authorization: `Bearer ${key}` },
      ...(payload && { payload }),
    })
  t.equal((await ask('GET', '/api/v1/jobs')).statusCode, 200)
  await first.stop()

  t.test('every operation answers 503 and when to come again', async (t) => {
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, () => ask('GET', '/api/v1/jobs')),
      ask('POST', '/api/v1/api-keys', { label: 'x', scope: 'global' }),
      ask('POST', '/api/v1/auth/session', { api_key: key }),
      ask('GET', '/api/v1/usage'),
    ])
    for (const { statusCode, headers, payload } of answers) {
      t.equal(statusCode, 503)
      t.equal(headers['retry-after'], '5')
      t.match(JSON.parse(payload), {
        code: 'unavailable',
        detail: 'The service is temporarily unavailable',
        request_id: headers['x-request-id'],
      })
    }
  })

  t.test('what needs no database goes on', async (t) => {
    t.equal((await ask('GET', '/livez')).statusCode, 200)
    t.equal((await ask('GET', '/readyz')).statusCode, 503)
    t.equal((await server.inject({ url: '/api/v1/jobs' })).statusCode, 401)
    const malformed = { authorization: 'Bearer svc_sk_x' }
    t.equal((await server.inject({ url: '/api/v1/jobs', headers: malformed })).statusCode, 401)
    t.equal((await server.inject({ url: '/openapi.json' })).statusCode, 200)
  })

  t.test('and when it is back, so is the service', async (t) => {
    stops.push((await startPostgres({ ...cluster, port })).stop)
    const answer = await until(async () => {
      const { statusCode } = await ask('GET', '/api/v1/jobs')
      return statusCode !== 503 && statusCode
    })
    t.equal(answer, 200)
    await until(async () => (await ask('GET', '/readyz')).statusCode === 200)
  })
})
