import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hashKey, isWellFormedKey, makeKey } from '../jobs/rules/access/api-key.ts'
import { findKeyByHash } from '../sql/access/api-keys.ts'
import type { Queryable, Sql } from '../sql/core/db.ts'
import { findFirstOrganization } from '../sql/org/organizations.ts'
import type { Config } from './config.ts'
import { createOrganization } from './organizations.ts'

export interface FirstOrganization {
  readonly id: string
  /** Whether this call made it. */
  readonly created: boolean
  /** Its raw global admin key; undefined when it is not known here, or does not work any more. */
  readonly key: string | undefined
}

/**
 * Makes organization `demo` when the database has none, with INIT_API_KEY or a generated key as its
 * global admin key. A generated one is kept in `DATA_DIR/init-api-key`, so that a later start can show
 * it again. Safe to run from many processes at once.
 */
export async function ensureFirstOrganization(
  sql: Sql,
  config: Pick<Config, 'INIT_API_KEY' | 'KEY_PREFIX' | 'DATA_DIR'>,
): Promise<FirstOrganization> {
  return sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${FIRST_ORGANIZATION_LOCK})`
    const kept = config.INIT_API_KEY ?? (await readKeptKey(config))
    const id = await findFirstOrganization(tx)
    if (id !== undefined) {
      return { id, created: false, key: kept && (await isUsable(tx, kept)) ? kept : undefined }
    }
    const key = kept ?? (await keepNewKey(config))
    const made = await createOrganization(tx, {
      name: 'demo',
      plan: 'enterprise',
      prefix: config.KEY_PREFIX,
      key,
    })
    return { id: made.org_id, created: true, key }
  })
}

async function isUsable(sql: Queryable, key: string) {
  const row = await findKeyByHash(sql, hashKey(key))
  return row !== undefined && !row.revoked_at && !(row.expires_at && row.expires_at <= new Date())
}

async function readKeptKey({ DATA_DIR, KEY_PREFIX }: Pick<Config, 'DATA_DIR' | 'KEY_PREFIX'>) {
  const text = await readFile(join(DATA_DIR, KEY_FILE), 'utf8').catch(() => '')
  return isWellFormedKey(KEY_PREFIX, text.trim()) ? text.trim() : undefined
}

/** On the disk before the database has it: what is committed can always be shown again. */
async function keepNewKey({ DATA_DIR, KEY_PREFIX }: Pick<Config, 'DATA_DIR' | 'KEY_PREFIX'>) {
  const key = makeKey(KEY_PREFIX, randomBytes(64))
  await mkdir(DATA_DIR, { recursive: true })
  await writeFile(join(DATA_DIR, KEY_FILE), `${key}\n`, { mode: 0o600, flush: true })
  return key
}

const KEY_FILE = 'init-api-key'
/** Any number nobody else uses; held while the first organization is made. */
const FIRST_ORGANIZATION_LOCK = 7_304_513
