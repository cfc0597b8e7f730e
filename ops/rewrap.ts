import { randomBytes } from 'node:crypto'
import { openSecret, sealSecret } from '../jobs/rules/core/secret-box.ts'
import type { Sql } from '../sql/core/db.ts'
import type { SealedSecret } from '../sql/core/sealed-secret.ts'
import { listJobSecrets, replaceJobSecret } from '../sql/jobs/job-secrets.ts'
import { listWebhookSecrets, replaceWebhookSecret } from '../sql/webhooks/notifications.ts'

/** What became of the stored secrets. */
export interface Rewrapped {
  /** Sealed anew. */
  rewrapped: number
  /** Sealed with the new key before, or set by somebody meanwhile. */
  current: number
  /** Neither key opens them. */
  unreadable: number
  /** The organizations of those, at most 100. */
  readonly unreadable_orgs: string[]
}

/**
 * Seals every stored secret with the key `to` that is sealed with `from`. Each is replaced by itself, so
 * that the next run finishes one that was cut short, and a secret that somebody sets meanwhile stays.
 * Workers that have both keys can open every secret at any moment.
 */
export async function rewrapSecrets(sql: Sql, keys: Keys): Promise<Rewrapped> {
  const counts: Rewrapped = { rewrapped: 0, current: 0, unreadable: 0, unreadable_orgs: [] }
  await rewrapAll(sql, keys, counts, listWebhookSecrets, replaceWebhookSecret)
  await rewrapAll(sql, keys, counts, listJobSecrets, replaceJobSecret)
  return counts
}

/** Rewraps the secrets of one table. */
async function rewrapAll<S extends SealedSecret>(
  sql: Sql,
  keys: Keys,
  counts: Rewrapped,
  list: (sql: Sql, after: S | null, limit: number) => Promise<readonly S[]>,
  replace: (sql: Sql, from: S, to: Buffer) => Promise<boolean>,
) {
  let page: readonly S[]
  let after: S | null = null
  do {
    page = await list(sql, after, PAGE)
    for (const stored of page) {
      const outcome = await rewrapOne(keys, stored, (to) => replace(sql, stored, to))
      counts[outcome]++
      if (outcome === 'unreadable' && counts.unreadable <= ORGS_NAMED)
        counts.unreadable_orgs.push(stored.org_id)
    }
    after = page.at(-1) ?? null
  } while (page.length === PAGE)
}

async function rewrapOne(
  keys: Keys,
  { secret }: SealedSecret,
  replace: (to: Buffer) => Promise<boolean>,
) {
  if (open(keys.to, secret) !== undefined) return 'current'
  const plain = open(keys.from, secret)
  if (plain === undefined) return 'unreadable'
  return (await replace(sealSecret(keys.to, randomBytes(12), plain))) ? 'rewrapped' : 'current'
}

function open(key: Uint8Array, box: Uint8Array) {
  try {
    return openSecret([key], box)
  } catch {
    return undefined
  }
}

/** 32 bytes each. */
interface Keys {
  readonly from: Uint8Array
  readonly to: Uint8Array
}

const PAGE = 500
const ORGS_NAMED = 100
