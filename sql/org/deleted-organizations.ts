import type { Queryable, Transaction } from '../core/db.ts'

/**
 * Marks an organization to be deleted and revokes its keys, with which its sessions end. Again, nothing
 * changes.
 * @param name that the organization has to have
 * @returns when it was marked first; undefined where there is no such organization
 */
export async function markDeleted(tx: Transaction, orgId: string, name: string) {
  const [marked] = await tx<{ deletion_requested_at: Date }[]>`
    update organizations set deletion_requested_at = coalesce(deletion_requested_at, now())
    where id = ${orgId} and name = ${name} returning deletion_requested_at`
  if (!marked) return undefined
  await tx`update api_keys set revoked_at = now() where org_id = ${orgId} and revoked_at is null`
  return marked.deletion_requested_at
}

/** At most `limit` organizations that are to be deleted. */
export async function listDeletedOrganizations(sql: Queryable, limit: number) {
  const rows = await sql<{ id: string }[]>`
    select id from organizations where deletion_requested_at is not null
    order by deletion_requested_at limit ${limit}`
  return rows.map(({ id }) => id)
}

/** Whether an organization is there that nobody wants deleted. */
export async function isKept(sql: Queryable, orgId: string) {
  const kept = await sql`
    select from organizations where id = ${orgId} and deletion_requested_at is null`
  return kept.length > 0
}

/** The jobs of an organization that have not ended and are not told to, at most `limit`. */
export async function listUncanceledJobs(sql: Queryable, orgId: string, limit: number) {
  const rows = await sql<{ id: string }[]>`
    select id from jobs
    where org_id = ${orgId} and state in ('queued', 'running') limit ${limit}`
  return rows.map(({ id }) => id)
}

/** A table with rows of organizations, or a part of one that is divided. */
export interface OwnedTable {
  readonly name: string
  /** Its rows name files of theirs. */
  readonly has_files: boolean
  /** The column by which its rows refer to others of it; null in most. */
  readonly own_reference: string | null
}

/**
 * All that have an `org_id`, as the catalog knows them, so that none is forgotten; but for the public names
 * of skills, which stay taken: another skill under one of them would reach all who have installed the first.
 * What refers to a table comes before it.
 */
export async function listOwnedTables(sql: Queryable) {
  return sql<OwnedTable[]>`
    with recursive owned as (
      select c.oid from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
        and a.attname = 'org_id' and not a.attisdropped and c.relname <> 'registry_slugs'
    ), refers as (
      select conrelid as child, confrelid as parent from pg_constraint
      where contype = 'f' and conrelid <> confrelid
    ), ranked (oid, rank) as (
      select oid, 0 from owned
      union
      select r.child, ranked.rank + 1 from ranked join refers r on r.parent = ranked.oid
    )
    select o.oid::regclass::text as name,
      exists (
        select from pg_attribute a
        where a.attrelid = o.oid and a.attname = 'storage_key' and not a.attisdropped) as has_files,
      (
        select a.attname::text from pg_constraint k
          join pg_attribute a on a.attrelid = o.oid and a.attnum = any(k.conkey)
        where k.contype = 'f' and k.conrelid = o.oid and k.confrelid = o.oid
          and a.attname <> 'org_id') as own_reference
    from owned o join ranked using (oid)
    group by o.oid order by max(rank) desc, name`
}

/** Empties the reference of some rows of an organization to others of their table. @returns of how many */
export async function cutReferences(
  sql: Queryable,
  table: string,
  column: string,
  orgId: string,
  limit: number,
) {
  const cut = await sql`
    update ${sql(table)} set ${sql(column)} = null where ctid = any(array(
      select ctid from ${sql(table)}
      where org_id = ${orgId} and ${sql(column)} is not null limit ${limit}))`
  return cut.count
}

/**
 * Deletes some rows of an organization from a table.
 * @returns how many, and the keys of their files
 */
export async function deleteOwned(sql: Queryable, table: OwnedTable, orgId: string, limit: number) {
  const { name, has_files } = table
  const rows = await sql<{ storage_key?: string | null }[]>`
    delete from ${sql(name)} where ctid = any(array(
      select ctid from ${sql(name)} where org_id = ${orgId} limit ${limit}))
    ${has_files ? sql`returning storage_key` : sql``}`
  return { count: rows.count, files: rows.flatMap(({ storage_key: key }) => key ?? []) }
}

/** Deletes the row of an organization, to which nothing refers any more. */
export async function deleteOrganizationRow(sql: Queryable, orgId: string) {
  await sql`delete from organizations where id = ${orgId} and deletion_requested_at is not null`
}
