import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import postgres from 'postgres'
import type { Test } from 'tap'
import { openDatabase } from '../../sql/core/db.ts'
import { serverUrl } from './cluster.ts'

/** A database of its own for a test file, cloned from a migrated one; dropped when the file ends. */
export async function createDatabase(t: Test): Promise<string> {
  const server = await serverUrl()
  const admin = postgres(server, { max: 1, onnotice: () => undefined })
  const template = await ensureTemplate(server, admin)
  const name = `adl_test_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  // Files are copied in a tenth of the time in which all blocks go through the log.
  await admin.unsafe(`create database ${name} template ${template} strategy file_copy`)
  t.teardown(async () => {
    await admin.unsafe(`drop database ${name} with (force)`)
    await admin.end()
  })
  return urlOf(server, name)
}

/** A pool on a database of its own. */
export async function openTestDatabase(t: Test) {
  const url = await createDatabase(t)
  const sql = openDatabase(url)
  t.teardown(() => sql.end({ timeout: 1 }))
  return { url, sql }
}

/** The template's name is a hash of what makes it, so that a change makes a new one. */
async function ensureTemplate(server: string, admin: postgres.Sql) {
  const hash = createHash('sha256')
  for (const file of globSync(['sql/migrations/*.sql', 'jobs/*.ts', 'package.json']).sort()) {
    hash.update(file).update(readFileSync(file))
  }
  const name = `adl_template_${hash.digest('hex').slice(0, 12)}`
  await admin`select pg_advisory_lock(${TEMPLATE_LOCK})`
  try {
    const [exists] = await admin`select 1 from pg_database where datname = ${name}`
    if (!exists) {
      await admin.unsafe(`drop database if exists ${name}_making with (force)`)
      await admin.unsafe(`create database ${name}_making`)
      // Only the first test file needs it; the others find the template made.
      const { migrateAll } = await import('../../ops/migrate.ts')
      await migrateAll(urlOf(server, `${name}_making`), { warn: () => undefined })
      await admin.unsafe(`alter database ${name}_making rename to ${name}`)
    }
  } finally {
    await admin`select pg_advisory_unlock(${TEMPLATE_LOCK})`
  }
  return name
}

function urlOf(server: string, database: string) {
  const url = new URL(server)
  url.pathname = `/${database}`
  return url.href
}

const TEMPLATE_LOCK = 7_304_512
