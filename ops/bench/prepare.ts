import { randomBytes, randomUUIDv7 } from 'node:crypto'
import postgres from 'postgres'
import { displayPrefix, hashKey, makeKey } from '../../jobs/rules/api-key.ts'
import { insertKey } from '../../sql/api-keys.ts'
import { openDatabase } from '../../sql/db.ts'
import type { Sql } from '../../sql/db.ts'
import { insertOrganization } from '../../sql/organizations.ts'
import { migrateAll } from '../context.ts'

export interface Bench {
  readonly url: string
  readonly sql: Sql
  /** Of an administrator of the organization, which no rate limit stops. */
  readonly key: string
  /** The organization and its default project. */
  readonly owner: { readonly org_id: string; readonly project_id: string }
}

/**
 * Runs `work` on a migrated database of the server that DATABASE_URL names, with one organization,
 * and drops it afterwards.
 */
export async function withBenchDatabase(name: string, work: (bench: Bench) => Promise<void>) {
  const server = process.env['DATABASE_URL']
  if (!server) throw new Error('DATABASE_URL names the server to use')
  const admin = postgres(server, { max: 1, onnotice: () => undefined })
  const database = `bench_${name}_${process.pid}`
  await admin.unsafe(`create database ${database}`)
  try {
    const url = Object.assign(new URL(server), { pathname: `/${database}` }).href
    await migrateAll(url, { warn: () => undefined })
    const sql = openDatabase(url, { max: 2 })
    await work({ url, sql, ...(await makeOrganization(sql)) })
    await sql.end()
  } finally {
    await admin.unsafe(`drop database ${database} with (force)`)
    await admin.end()
  }
}

async function makeOrganization(sql: Sql) {
  const org = { id: randomUUIDv7(), workspace_id: randomUUIDv7(), project_id: randomUUIDv7() }
  await insertOrganization(sql, {
    ...org,
    name: 'bench',
    plan: 'enterprise',
    billing_contact: null,
  })
  await sql`update organizations set rate_per_minute = 100000000, rate_burst = 1000000`
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
