import type { Queryable } from '../core/db.ts'

/** Stores what signs a browser in with a key, in the place of an earlier one of the key. */
export async function putSignInLink(
  sql: Queryable,
  link: { org_id: string; key_id: string; code_hash: Buffer; seconds: number },
) {
  await sql`
    insert into sign_in_links (org_id, key_id, code_hash, expires_at)
    values (${link.org_id}, ${link.key_id}, ${link.code_hash},
      now() + make_interval(secs => ${link.seconds}))
    on conflict (org_id, key_id) do update
      set code_hash = excluded.code_hash, expires_at = excluded.expires_at`
}

/** Uses a link up. @returns its key; undefined where there is none of that code, or no longer */
export async function takeSignInLink(sql: Queryable, codeHash: Buffer) {
  const [link] = await sql<{ org_id: string; key_id: string }[]>`
    delete from sign_in_links where code_hash = ${codeHash} and expires_at > now()
    returning org_id, key_id`
  return link
}
