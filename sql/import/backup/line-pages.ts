import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import type { Sql } from '../../core/db.ts'
import { columnsOf } from './line-columns.ts'
import { listLineRows, listLineSizes } from './line-rows.ts'
import type { BackupScope, Line } from './line-rows.ts'
import { countOfPage } from './line-sizes.ts'
import { listParents } from './parents.ts'
import type { Parent } from './parents.ts'
import { readTracePages } from './trace-pages.ts'

/**
 * The lines of some kinds, in the order of a backup, a page at a time. Each page is of one snapshot, and no
 * transaction is open between two of them.
 * @param kinds in the order of KINDS
 */
export async function* readLinePages(
  sql: Sql,
  scope: BackupScope,
  kinds: readonly Kind[],
): AsyncGenerator<readonly Line[]> {
  const ofTraces = kinds.filter(isOfTrace)
  for (const kind of kinds) {
    if (kind === ofTraces[0]) {
      for await (const project of listParents(sql, 'project', scope)) {
        yield* readTracePages(sql, scope, project, ofTraces)
      }
    }
    if (!isOfTrace(kind)) yield* readKind(sql, scope, kind)
  }
}

function isOfTrace({ name, isFollower }: Kind) {
  return isFollower || name === 'trace'
}

/** Rows that are sorted by the name of their project or skill first are read one project or skill at a time. */
async function* readKind(sql: Sql, scope: BackupScope, kind: Kind) {
  const [first, ...others] = kind.order
  if (first !== 'project' && first !== 'skill') {
    yield* readRows(sql, scope, kind, { order: kind.order })
    return
  }
  for await (const of of listParents(sql, first, scope)) {
    yield* readRows(sql, scope, kind, { order: others, of })
  }
}

/**
 * A page has rows of 4 MiB together, at least one.
 * @param order members by which the rows are sorted, those of one parent where there is one
 */
async function* readRows(
  sql: Sql,
  scope: BackupScope,
  kind: Kind,
  { order, of }: { readonly order: readonly string[]; readonly of?: Parent },
) {
  const columns = columnsOf(kind, order).join()
  const places = order.map((name) => kind.members.findIndex((member) => member.name === name))
  const own = of ? sql`and ${sql.unsafe(of.column)} = ${of.id}` : sql``
  const sorted = order.length > 0 ? sql`order by ${sql.unsafe(columns)}` : sql``
  let after = sql``
  for (;;) {
    const next = (limit: number) => sql`${own} ${after} ${sorted} limit ${limit}`
    const sizes = await listLineSizes(sql, kind, scope, next(ROWS_A_LIST))
    for (let left = sizes; left.length > 0;) {
      const count = countOfPage(left)
      left = left.slice(count)
      const rows = await listLineRows(sql, kind, scope, next(count))
      yield rows
      const last = rows.at(-1)
      // Of a project that has one row there is nothing to sort by.
      if (!last || places.length === 0) return
      const values = places.map((i) => sql`${last.row[i] as string | number}`)
      const key = values.reduce((all, each) => sql`${all}, ${each}`)
      after = sql`and (${sql.unsafe(columns)}) > (${key})`
    }
    if (sizes.length < ROWS_A_LIST) return
  }
}

const ROWS_A_LIST = 500
