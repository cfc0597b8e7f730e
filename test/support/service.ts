import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { ServerInjectOptions } from '@hapi/hapi'
import { createApi } from '../../api/server.ts'
import type { ServerOptions } from '../../api/server.ts'
import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import { displayPrefix, hashKey, makeKey } from '../../jobs/rules/access/api-key.ts'
import { readConfig } from '../../ops/config.ts'
import { openApiContext } from '../../ops/api-context.ts'
import { openWorkerContext } from '../../ops/worker-context.ts'
import { insertKey } from '../../sql/access/api-keys.ts'
import { openDatabase } from '../../sql/core/db.ts'
import type { Sql } from '../../sql/core/db.ts'
import { insertOrganization } from '../../sql/org/organizations.ts'
import type { Plan } from '../../sql/org/organizations.ts'
import type { AnyHandler } from '../../workers/runtime/handler.ts'
import type { Meter } from '../../workers/runtime/meter.ts'
import { startWorkers } from '../../workers/runtime/start-workers.ts'
import { createDatabase } from './database.ts'
import { watchSecrets } from './secrets.ts'

/**
 * An API on a database of its own, unless the `url` of one that is migrated is given; without a port. Call
 * `startWorkers` for what it enqueues.
 */
export async function openService(
  t: Test,
  { env = {}, url: given, contentForm, ...options }: ServerOptions & TestOptions = {},
) {
  const url = given ?? (await createDatabase(t))
  const dataDir = await mkdtemp(join(tmpdir(), 'adl-test-'))
  const config = readConfig({
    DATA_DIR: dataDir,
    LOG_LEVEL: process.env['LOG_LEVEL'] ?? 'silent',
    // On a busy machine a burst of requests waits, and counting takes long; only tests of these see it.
    DATABASE_WAIT_SECONDS: '60',
    LIST_COUNT_MS: '30000',
    ...env,
  })
  const sql = openDatabase(url)
  const opened = await openApiContext(config, url)
  const secrets = watchSecrets()
  const log = process.env['LOG_LEVEL'] ? opened.context.log : secrets.log
  const told = { log, ...(contentForm && { contentForm }) }
  const context = { ...opened.context, ...told }
  const server = await createApi(context, { anonymousRate: UNLIMITED, ...options })
  t.teardown(async () => {
    await server.stop({ timeout: 1000 })
    await opened.close()
    try {
      await secrets.check(sql)
    } finally {
      await sql.end({ timeout: 1 })
      await rm(dataDir, { recursive: true, force: true })
    }
  })
  return {
    url,
    sql,
    server,
    config,
    /** Where files are kept, unless `env` has a STORAGE_URL. */
    storageFolder: join(dataDir, 'storage'),
    context,
    boss: opened.boss,
    /** What was logged, unless LOG_LEVEL sends it to standard error. */
    logged: secrets.lines,
    /** Runs the given handlers in this process until the test file ends or `stop` is called. */
    async startWorkers(handlers: readonly AnyHandler[], concurrency = 4, meter?: Meter) {
      // So that no schedule fires: what it asks for would be done in the middle of a test.
      await sql`update pgboss.version set cron_on = now() + interval '1 day'`
      const worker = await openWorkerContext(config, url, {
        slots: concurrency * handlers.length,
        supervise: true,
        ...(meter && { meter }),
      })
      const pools = await startWorkers(
        { ...worker.context, ...told },
        worker.boss,
        handlers.map((handler) => ({ handler, concurrency })),
      )
      let stopped: Promise<void> | undefined
      const stop = () =>
        (stopped ??= (async () => {
          await pools.stop(10_000)
          await worker.close()
        })())
      t.teardown(stop)
      return { pools, context: worker.context, boss: worker.boss, stop }
    },
    /** A client that sends requests with a key. */
    client: (key: string) => makeClient(server, key),
    /** An organization of its own with a global admin key. On the enterprise plan it has no rate limit. */
    makeOrganization: (plan: Plan = 'enterprise') => makeOrganization(sql, plan),
  }
}
export type Service = Awaited<ReturnType<typeof openService>>

export async function makeOrganization(sql: Sql, plan: Plan) {
  const org = { id: randomUUIDv7(), workspace_id: randomUUIDv7(), project_id: randomUUIDv7() }
  await insertOrganization(sql, { ...org, name: `org ${org.id}`, plan, billing_contact: null })
  if (plan === 'enterprise') {
    const { perMinute, burst } = UNLIMITED
    await sql`
      update organizations set rate_per_minute = ${perMinute}, rate_burst = ${burst} where id = ${org.id}`
  }
  const key = await makeTestKey(sql, org.id, { scope: 'global', permissions: 'admin' })
  return {
    orgId: org.id,
    workspaceId: org.workspace_id,
    projectId: org.project_id,
    key: key.raw,
    keyId: key.id,
  }
}

export async function makeTestKey(
  sql: Sql,
  orgId: string,
  key: {
    scope: 'global' | 'workspace' | 'project'
    permissions: 'read' | 'write' | 'admin'
    workspace_id?: string
    project_id?: string
    expires_at?: Date
  },
) {
  const raw = makeKey('svc_', randomBytes(64))
  const id = randomUUIDv7()
  await insertKey(sql, {
    org_id: orgId,
    id,
    key_hash: hashKey(raw),
    key_prefix: displayPrefix('svc_', raw),
    label: 'test',
    workspace_id: null,
    project_id: null,
    expires_at: null,
    ...key,
  })
  return { id, raw }
}

function makeClient(server: Awaited<ReturnType<typeof createApi>>, key: string) {
  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) {
    const response = await server.inject({
      method,
      url: path.startsWith('//') ? path.slice(1) : `/api/v1${path}`,
      headers: { authorization: `Bearer ${key}`, ...headers },
      ...(body !== undefined && { payload: body }),
    } as ServerInjectOptions)
    return {
      status: response.statusCode,
      headers: response.headers as Record<string, string>,
      // oxlint-disable-next-line typescript/no-explicit-any
      body: readBody(response.payload, String(response.headers['content-type'])) as any,
    }
  }
  return {
    call,
    get: (path: string, headers?: Record<string, string>) => call('GET', path, undefined, headers),
    post: (path: string, body: unknown = {}, headers?: Record<string, string>) =>
      call('POST', path, body, headers),
    put: (path: string, body: unknown) => call('PUT', path, body),
    patch: (path: string, body: unknown) => call('PATCH', path, body),
    delete: (path: string, body?: unknown) => call('DELETE', path, body),
  }
}

function readBody(payload: string, type: string) {
  return payload && type.includes('application/json') ? (JSON.parse(payload) as unknown) : payload
}

interface TestOptions {
  readonly env?: Record<string, string>
  readonly url?: string
  /** Default the one that the database can be given. */
  readonly contentForm?: ContentForm
}

/** What no test uses up. */
const UNLIMITED = { perMinute: 6_000_000, burst: 1_000_000 }
