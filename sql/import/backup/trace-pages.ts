import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import type { Queryable, Sql, Transaction } from '../../core/db.ts'
import { columnsOf } from './line-columns.ts'
import { listLineRows } from './line-rows.ts'
import type { BackupScope, Line } from './line-rows.ts'
import { countOfPage, sizeOf } from './line-sizes.ts'
import type { Parent } from './parents.ts'

/**
 * The traces of a project with their followers, as many a page as have 4 MiB together, at least one: that with
 * all its followers, however many there are.
 * @param kinds traces, some of their followers, or both, in the order of KINDS
 */
export async function* readTracePages(
  sql: Sql,
  scope: BackupScope,
  project: Parent,
  kinds: readonly Kind[],
): AsyncGenerator<readonly Line[]> {
  for (let after = ''; ;) {
    const listed = await listTraces(sql, scope, project.id, { kinds, after })
    for (let left = listed; left.length > 0;) {
      const count = countOfPage(left.map(({ bytes }) => bytes))
      const traces = left.slice(0, count)
      left = left.slice(count)
      yield await sql.begin('isolation level repeatable read read only', (tx) =>
        listLines(tx, scope, project.id, { kinds, traces }),
      )
    }
    const last = listed.at(-1)
    if (!last || listed.length < TRACES_A_LIST) return
    after = last.trace_id
  }
}

/**
 * Traces behind `after` with the bytes of themselves and of their followers. They may grow before their page is
 * read, by what comes within the time that a client takes for the pages before it.
 */
async function listTraces(
  sql: Sql,
  { orgId, until }: BackupScope,
  projectId: string,
  { kinds, after }: { kinds: readonly Kind[]; after: string },
): Promise<SizedTrace[]> {
  const own = kinds.find(({ isFollower }) => !isFollower)
  const traces = await sql<SizedTrace[]>`
    select k.trace_id, k.period, ${sql.unsafe(own ? sizeOf(own) : '0')} as bytes
    from trace_ids k
    join traces t on t.org_id = k.org_id and t.project_id = k.project_id and t.period = k.period
      and t.trace_id = k.trace_id
    where k.org_id = ${orgId} and k.project_id = ${projectId} and k.trace_id > ${after}
      and t.created_at <= ${until}::text::timestamptz
    order by k.trace_id limit ${TRACES_A_LIST}`
  const sums = new Map(traces.map(({ trace_id, bytes }) => [trace_id, bytes]))
  for (const kind of kinds.filter(({ isFollower }) => isFollower)) {
    const sized = await sql<{ trace_id: string; bytes: number }[]>`
      select t.trace_id, sum(${sql.unsafe(sizeOf(kind))})::bigint as bytes from ${sql(kind.table)} t
      where t.org_id = ${orgId} and t.project_id = ${projectId} ${ofTraces(sql, kind, traces)}
      group by t.trace_id`
    for (const { trace_id, bytes } of sized) sums.set(trace_id, (sums.get(trace_id) ?? 0) + bytes)
  }
  return traces.map((trace) => ({ ...trace, bytes: sums.get(trace.trace_id) ?? 0 }))
}

async function listLines(
  tx: Transaction,
  scope: BackupScope,
  projectId: string,
  { kinds, traces }: { kinds: readonly Kind[]; traces: readonly SizedTrace[] },
): Promise<Line[]> {
  const lists = kinds.map(async (kind) => {
    const rows = await listLineRows(
      tx,
      kind,
      scope,
      tx`and t.project_id = ${projectId} ${ofTraces(tx, kind, traces)}
        order by ${tx.unsafe(columnsOf(kind, kind.order.slice(1)).join())}`,
    )
    return byTrace(kind, rows)
  })
  const found = await Promise.all(lists)
  return traces.flatMap(({ trace_id }) => found.flatMap((lines) => lines.get(trace_id) ?? []))
}

/** The condition that `t`, of a kind, is of these traces. */
function ofTraces(sql: Queryable, kind: Kind, traces: readonly SizedTrace[]) {
  const ids = traces.map(({ trace_id }) => trace_id)
  const periods = [...new Set(traces.map(({ period }) => period.getTime()))]
  const inPeriods = kind.without.includes('period')
    ? sql`and t.period = any(${periods.map((time) => new Date(time).toISOString())}::date[])`
    : sql``
  return sql`and t.trace_id = any(${ids}::text[]) ${inPeriods}`
}

function byTrace(kind: Kind, lines: readonly Line[]): Map<unknown, Line[]> {
  const place = kind.members.findIndex(({ name }) => name === 'trace_id')
  return Map.groupBy(lines, ({ row }) => row[place])
}

interface SizedTrace {
  readonly trace_id: string
  readonly period: Date
  readonly bytes: number
}

const TRACES_A_LIST = 500
