import { arrayText, byteaText } from '../core/array-text.ts'
import { onlyRow } from '../core/db.ts'
import type { Queryable, Transaction } from '../core/db.ts'

/** The contents of files, once an organization, whatever number of versions has them. */

/** Undefined where no version has had the content for a day. */
export async function readBlob(sql: Queryable, orgId: string, sha256: Buffer) {
  const [row] = await sql<{ content: Buffer }[]>`
    select content from skill_blobs where org_id = ${orgId} and sha256 = ${sha256}`
  return row?.content
}

/**
 * Until the transaction ends nobody else stores or releases contents of the organization. Equal files are
 * one blob, so that two who changed several of them at once would wait for each other.
 */
export async function lockBlobs(tx: Transaction, orgId: string) {
  await tx`select pg_advisory_xact_lock(hashtextextended(${`skill blobs ${orgId}`}, 0))`
}

/**
 * Stores the contents of files that are about to be put, and marks for retention what those lose that are
 * replaced or removed.
 */
export async function exchangeBlobs(
  tx: Transaction,
  orgId: string,
  added: readonly BlobContent[],
  released: readonly Buffer[],
) {
  await lockBlobs(tx, orgId)
  await tx`
    update skill_blobs set released_at = clock_timestamp()
    where org_id = ${orgId} and sha256 = any(${bytesList(released)}::text::bytea[])`
  // The update of an equal blob holds it against retention until the file is there.
  await tx`
    insert into skill_blobs (org_id, sha256, content)
    select distinct on (sha256) ${orgId}::uuid, sha256, content
    from unnest(${bytesList(added.map(({ sha256 }) => sha256))}::text::bytea[],
      ${bytesList(added.map(({ content }) => content))}::text::bytea[]) added(sha256, content)
    on conflict (org_id, sha256) do update set released_at = null`
}

/**
 * Deletes of at most `limit` blobs that a file lost a day ago those that no version has. A day, because
 * whoever copies files does not touch their blobs. Returns how many it looked at.
 */
export async function deleteReleasedBlobs(sql: Queryable, limit: number): Promise<number> {
  const isUsed = sql`exists (
    select from skill_version_files f where f.org_id = b.org_id and f.sha256 = b.sha256)`
  const rows = await sql<{ count: number }[]>`
    with due as materialized (
      select org_id, sha256 from skill_blobs
      where released_at < now() - interval '1 day'
      order by released_at limit ${limit} for update skip locked
    ), kept as (
      update skill_blobs b set released_at = null from due
      where b.org_id = due.org_id and b.sha256 = due.sha256 and ${isUsed}
    ), deleted as (
      delete from skill_blobs b using due
      where b.org_id = due.org_id and b.sha256 = due.sha256 and not ${isUsed}
    )
    select count(*) from due`
  return onlyRow(rows).count
}

function bytesList(list: readonly Buffer[]) {
  return arrayText(list.map(byteaText))
}

export interface BlobContent {
  readonly sha256: Buffer
  readonly content: Buffer
}
