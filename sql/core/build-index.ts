import { createHash } from 'node:crypto'
import { buildConcurrently, findIndexState } from './concurrent-index.ts'
import type { Index } from './concurrent-index.ts'
import type { Sql } from './db.ts'
import { MigrationBlocked, retryLocks } from './lock-retries.ts'

/**
 * Builds an index while its table is read and written; one of a partitioned table partition by partition,
 * because PostgreSQL refuses to build that concurrently. Goes on where a build was killed.
 * @param sql with three free connections and no statement timeout
 * @throws MigrationBlocked
 */
export async function buildIndex(sql: Sql, index: Index, report: Report): Promise<void> {
  if (await isPartitioned(sql, index.table)) await buildPartitioned(sql, index, report)
  else await buildConcurrently(sql, index, report)
}

/**
 * The index of the whole table comes first, and is empty: partitions that are made from then on get theirs
 * from PostgreSQL. It turns valid when those of all partitions are attached to it.
 */
async function buildPartitioned(sql: Sql, index: Index, report: Report) {
  const { name, table, isUnique, definition } = index
  const parent = `create ${isUnique ? 'unique ' : ''}index if not exists ${name} on only ${table} ${definition}`
  if ((await findIndexState(sql, name)) === 'missing') {
    await retryLocks(sql, `Index ${name}`, (tx) => tx.unsafe(parent), report)
  }
  for (;;) {
    const partition = await findUnindexed(sql, index)
    if (partition === undefined) break
    const part = { ...index, table: partition, name: nameOfPart(name, partition) }
    await buildIndex(sql, part, report)
    const attach = `alter index ${name} attach partition ${part.name}`
    await retryLocks(sql, `Index ${name}`, (tx) => tx.unsafe(attach), report)
  }
  if ((await findIndexState(sql, name)) === 'valid') return
  throw new MigrationBlocked(
    `Index ${name} has a part for each partition and is not valid, because a partition was dropped while its part was built. Drop the index and run migrate again.`,
  )
}

async function isPartitioned(sql: Sql, table: string) {
  const rows = await sql`
    select from pg_class where oid = to_regclass(${table}) and relkind = 'p'`
  return rows.length > 0
}

/** A partition whose index has not been attached; not one that is being detached, which needs none. */
async function findUnindexed(sql: Sql, { name, table }: Index) {
  const [row] = await sql<{ partition: string }[]>`
    select p.inhrelid::regclass::text as partition
    from pg_inherits p
    where p.inhparent = to_regclass(${table}) and not p.inhdetachpending
      and not exists (
        select from pg_index i join pg_inherits a on a.inhrelid = i.indexrelid
        where i.indrelid = p.inhrelid and a.inhparent = to_regclass(${name}))
    order by 1 limit 1`
  return row?.partition
}

/** Both names, in the 63 bytes that PostgreSQL keeps of one. */
function nameOfPart(index: string, partition: string) {
  const name = `${index}_${partition}`
  if (name.length <= MAX_NAME) return name
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${name.slice(0, MAX_NAME - 9)}_${hash}`
}

const MAX_NAME = 63

type Report = (sentence: string) => void
