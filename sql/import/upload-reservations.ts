import { onlyRow } from '../core/db.ts'
import type { Queryable, Sql, Transaction } from '../core/db.ts'

export interface UploadReservation {
  readonly orgId: string
  /** Of the import that the upload is for. */
  readonly id: string
  /** What it has announced or sent. */
  readonly bytes: number
  /** Bytes of all uploads that the organization may have stored. */
  readonly limit: number
}

/**
 * Counts an upload under way, in place of what was counted for it before, as far as there is room, and
 * returns how many bytes are counted. Exact whatever others reserve at the same time. One that is not
 * renewed within `RESERVED_MINUTES` counts no more.
 */
export async function reserveUpload(sql: Sql, { orgId, id, bytes, limit }: UploadReservation) {
  return sql.begin(async (tx: Transaction) => {
    // A lock on which the foreign keys of others do not wait.
    await tx`select from organizations where id = ${orgId} for no key update`
    const { taken } = onlyRow(
      await tx<{ taken: number }[]>`
        select (
          select coalesce(sum(bytes_total), 0) from imports
          where org_id = ${orgId} and storage_key is not null
        )::bigint + (
          select coalesce(sum(bytes), 0) from upload_reservations
          where org_id = ${orgId} and id <> ${id} and ${isLive(tx)}
        )::bigint as taken`,
    )
    const counted = Math.max(0, Math.min(bytes, limit - taken))
    await tx`
      insert into upload_reservations (org_id, id, bytes) values (${orgId}, ${id}, ${counted})
      on conflict (org_id, id) do update set bytes = excluded.bytes, renewed_at = now()`
    return counted
  })
}

/** Call it in the transaction that inserts the import, or when the upload has failed. */
export async function releaseUpload(sql: Queryable, orgId: string, id: string) {
  await sql`delete from upload_reservations where org_id = ${orgId} and id = ${id}`
}

/** Deletes the reservations of uploads whose processes were killed. */
export async function deleteDeadReservations(sql: Queryable) {
  await sql`delete from upload_reservations where not ${isLive(sql)}`
}

function isLive(sql: Queryable) {
  return sql`renewed_at > now() - make_interval(mins => ${RESERVED_MINUTES})`
}

const RESERVED_MINUTES = 10
