import type { Queryable, Transaction } from '../core/db.ts'

/** A key has at most so many sessions at once: another one ends the oldest. */
export const SESSIONS_OF_KEY = 20

export interface SessionRow {
  id: string
  created_at: Date
  /** Its key may end it before that. */
  expires_at: Date
  /** Null as long as it was not used, and after a crash of the database. */
  last_used_at: Date | null
}

/**
 * Stores a session of a key, and ends those of the key that are over or too many. The session is over when
 * its key is, if that is before `expires_at`.
 * @returns when it is over; undefined for a key that is revoked or expired
 */
export async function insertSession(
  tx: Transaction,
  session: { org_id: string; key_id: string; token_hash: Buffer; expires_at: Date },
): Promise<Date | undefined> {
  const { org_id: orgId, key_id: keyId } = session
  // Others who open a session of the key wait until this transaction ends, so that each is counted.
  const [key] = await tx<{ expires_at: Date }[]>`
    select least(expires_at, ${session.expires_at}) as expires_at from api_keys
    where org_id = ${orgId} and id = ${keyId}
      and revoked_at is null and (expires_at is null or expires_at > now())
    for no key update`
  if (!key) return undefined
  await tx`
    delete from sessions where org_id = ${orgId} and key_id = ${keyId} and id not in (
      select id from sessions where org_id = ${orgId} and key_id = ${keyId} and expires_at > now()
      order by created_at desc, id limit ${SESSIONS_OF_KEY - 1})`
  await tx`
    insert into sessions (org_id, token_hash, key_id, expires_at)
    values (${orgId}, ${session.token_hash}, ${keyId}, ${key.expires_at})`
  return key.expires_at
}

/** The sessions of a key that are not over, the newest first; undefined where there is no such key. */
export async function listSessions(sql: Queryable, orgId: string, keyId: string) {
  const keys = await sql`
    select from api_keys where org_id = ${orgId} and id = ${keyId} and revoked_at is null`
  if (keys.length === 0) return undefined
  return sql<SessionRow[]>`
    select s.id, s.created_at, s.expires_at, b.last_used_at
    from sessions s
    left join rate_buckets b on b.org_id = s.org_id and b.key_id = s.id
    where s.org_id = ${orgId} and s.key_id = ${keyId} and s.expires_at > now()
    order by s.created_at desc, s.id limit ${SESSIONS_OF_KEY}`
}

/** Ends a session of a key. @returns the key's label; undefined where there is no session that is not over */
export async function endSession(sql: Queryable, orgId: string, keyId: string, id: string) {
  const [ended] = await sql<{ label: string }[]>`
    delete from sessions s using api_keys k
    where s.org_id = ${orgId} and s.key_id = ${keyId} and s.id = ${id} and s.expires_at > now()
      and k.org_id = s.org_id and k.id = s.key_id
    returning k.label`
  return ended?.label
}

/** Ends a session, found by its token alone. */
export async function deleteSession(sql: Queryable, tokenHash: Buffer) {
  await sql`delete from sessions where token_hash = ${tokenHash}`
}
