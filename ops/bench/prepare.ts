import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { openDatabase } from '../../sql/core/db.ts'
import type { Sql } from '../../sql/core/db.ts'
import { updateRate } from '../../sql/org/organizations.ts'
import { migrateAll } from '../migrate.ts'
import { createOrganization } from '../organizations.ts'
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
  await migrateAll(url, { info: () => undefined, warn: () => undefined })
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
  const { path: folder } = opened.use(await openBenchFolder('postgres'))
  // The user that PostgreSQL runs as has to get in.
  await chmod(folder, 0o755)
  const cluster = await startPostgres({ dataDir: join(folder, 'data') })
  opened.defer(() => cluster.stop())
  return cluster.url
}

/** Makes an organization with a key of an administrator, which no rate limit stops. */
export async function makeOrganization(sql: Sql) {
  const made = await createOrganization(sql, { name: 'bench', plan: 'enterprise', prefix: 'svc_' })
  const { org_id, project_id, api_key: key } = made
  await updateRate(sql, org_id, { perMinute: 100_000_000, burst: 1_000_000 })
  return { key, owner: { org_id, project_id } }
}
