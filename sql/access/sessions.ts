import type { Queryable } from '../core/db.ts'

/** Stores a session and deletes the expired ones of the organization. */
export async function insertSession(
  sql: Queryable,
  session: { org_id: string; key_id: string; token_hash: Buffer; expires_at: Date },
) {
  await sql`
    with expired as (
      delete from sessions where org_id = ${session.org_id} and expires_at <= now()
    )
    insert into sessions (org_id, token_hash, key_id, expires_at)
    values (${session.org_id}, ${session.token_hash}, ${session.key_id}, ${session.expires_at})`
}

/** Ends a session, found by its token alone. */
export async function deleteSession(sql: Queryable, tokenHash: Buffer) {
  await sql`delete from sessions where token_hash = ${tokenHash}`
}
