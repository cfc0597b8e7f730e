import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { displayPrefix, hashKey, makeKey } from '../../jobs/rules/access/api-key.ts'
import { insertKey } from '../../sql/access/api-keys.ts'
import { openDatabase } from '../../sql/core/db.ts'
import type { Sql } from '../../sql/core/db.ts'
import { insertOrganization } from '../../sql/org/organizations.ts'
import { migrateAll } from '../context.ts'
import { startPostgres } from '../postgres.ts'

export interface Bench {
  readonly url: string
  readonly sql: Sql
  /** Key of an administrator of the organization, which no rate limit stops. */
  readonly key: string
  /** The organization and its default project. */
  readonly owner: { readonly org_id: string; readonly project_id: string }
}

/**
 * Runs `work` on a migrated database with one organization, and drops it afterwards. The server is the
 * one that DATABASE_URL names, else one of its own, which syncs its commits to the disk.
 */
export async function withBenchDatabase(name: string, work: (bench: Bench) => Promise<void>) {
  await using opened = new AsyncDisposableStack()
  const server = process.env['DATABASE_URL'] ?? (await startServer(opened))
  const admin = postgres(server, { max: 1, onnotice: () => undefined })
  opened.defer(() => admin.end())
  const database = `bench_${name}_${process.pid}`
  await admin.unsafe(`create database ${database}`)
  opened.defer(async () => {
    await admin.unsafe(`drop database ${database} with (force)`)
  })
  const url = Object.assign(new URL(server), { pathname: `/${database}` }).href
  await migrateAll(url, { warn: () => undefined })
  const sql = openDatabase(url, { max: 2, statementTimeoutMs: 0 })
  opened.defer(() => sql.end())
  await work({ url, sql, ...(await makeOrganization(sql)) })
}

/** A folder of the benchmark's own, removed when it is disposed of. */
export async function openBenchFolder(name: string) {
  const path = await mkdtemp(join(tmpdir(), `bench-${name}-`))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

async function startServer(opened: AsyncDisposableStack) {
  const folder = await mkdtemp(join(tmpdir(), 'bench-postgres-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  // The user that PostgreSQL runs as has to get in.
  await chmod(folder, 0o755)
  const cluster = await startPostgres({ dataDir: join(folder, 'data') })
  opened.defer(() => cluster.stop())
  return cluster.url
}

/** Makes an organization with a key of an administrator, which no rate limit stops. */
export async function makeOrganization(sql: Sql) {
  const org = { id: randomUUIDv7(), workspace_id: randomUUIDv7(), project_id: randomUUIDv7() }
  await insertOrganization(sql, {
    ...org,
    name: org.id,
    plan: 'enterprise',
    billing_contact: null,
  })
  await sql`
    update organizations set rate_per_minute = 100000000, rate_burst = 1000000 where id = ${org.id}`
  const key = makeKey('svc_', randomBytes(64))
  await insertKey(sql, {
    org_id: org.id,
    id: randomUUIDv7(),
    key_hash: hashKey(key),
    key_prefix: displayPrefix('svc_', key),
    label: 'bench',
    scope: 'global',
    permissions: 'admin',
    workspace_id: null,
    project_id: null,
    expires_at: null,
  })
  return { key, owner: { org_id: org.id, project_id: org.project_id } }
}
