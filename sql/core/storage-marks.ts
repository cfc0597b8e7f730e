import { onlyRow } from './db.ts'
import type { Queryable } from './db.ts'

/** The id that the storage folder of this database is marked with, and whether it was marked. */
export async function findStorageMark(sql: Queryable) {
  return onlyRow(
    await sql<{ id: string; isMarked: boolean }[]>`
      select id, is_marked as "isMarked" from storage_marks`,
  )
}

export async function keepStorageMarked(sql: Queryable) {
  await sql`update storage_marks set is_marked = true where not is_marked`
}
