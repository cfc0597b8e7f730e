import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import type { Sql } from '../../core/db.ts'
import { columnsOf } from './line-columns.ts'
import { listLineRows } from './line-rows.ts'
import type { BackupScope, Line } from './line-rows.ts'
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

/** @param order members by which the rows are sorted, those of one parent where there is one */
async function* readRows(
  sql: Sql,
  scope: BackupScope,
  kind: Kind,
  { order, of }: { readonly order: readonly string[]; readonly of?: Parent },
) {
  const columns = columnsOf(kind, order).join()
  const places = order.map((name) => kind.members.findIndex((member) => member.name === name))
  const limit = PAGE_ROWS[kind.name] ?? MOST_ROWS
  const own = of ? sql`and ${sql.unsafe(of.column)} = ${of.id}` : sql``
  let after = sql``
  for (;;) {
    const sorted = order.length > 0 ? sql`order by ${sql.unsafe(columns)}` : sql``
    const rest = sql`${own} ${after} ${sorted} limit ${limit}`
    const rows = await listLineRows(sql, kind, scope, rest)
    yield rows
    const last = rows.at(-1)
    if (!last || rows.length < limit) return
    const values = places.map((i) => sql`${last.row[i] as string | number}`)
    const key = values.reduce((all, each) => sql`${all}, ${each}`)
    after = sql`and (${sql.unsafe(columns)}) > (${key})`
  }
}

/** Rows of one statement at most, a few MiB of them. */
const MOST_ROWS = 500
/** Of kinds whose rows may be large: of a file 1 MiB, of a manifest as much. */
const PAGE_ROWS: Readonly<Record<string, number>> = {
  manifest: 8,
  skill_version: 32,
  skill_file: 8,
  repair_batch: 32,
  dataset_version: 32,
  replay_batch: 8,
  replay_task: 200,
  regression_check: 32,
}
