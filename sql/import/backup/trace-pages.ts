import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import type { Sql, Transaction } from '../../core/db.ts'
import { columnsOf } from './line-columns.ts'
import { listLineRows } from './line-rows.ts'
import type { BackupScope, Line } from './line-rows.ts'
import type { Parent } from './parents.ts'

/**
 * The traces of a project with their followers, as many a page as have 4 MiB of stored content together, at
 * least one.
 * @param kinds traces, some of their followers, or both, in the order of KINDS
 */
export async function* readTracePages(
  sql: Sql,
  scope: BackupScope,
  project: Parent,
  kinds: readonly Kind[],
): AsyncGenerator<readonly Line[]> {
  for (let after = ''; ;) {
    const page = await sql.begin('isolation level repeatable read read only', async (tx) => {
      const listed = await listSizes(tx, scope, project.id, after)
      const traces = listed.slice(0, countUpTo(listed, PAGE_BYTES))
      const lines =
        traces.length > 0 ? await listLines(tx, scope, project.id, { kinds, traces }) : []
      return { lines, last: traces.at(-1)?.trace_id }
    })
    if (page.last === undefined) return
    yield page.lines
    after = page.last
  }
}

/** Traces behind `after` with the bytes that are stored of their contents, those of their revisions too. */
function listSizes(
  tx: Transaction,
  { orgId, until }: BackupScope,
  projectId: string,
  after: string,
) {
  return tx<SizedTrace[]>`
    select k.trace_id, k.period, octet_length(t.content) + coalesce((
      select sum(octet_length(r.content))::int from trace_revisions r
      where r.org_id = k.org_id and r.project_id = k.project_id and r.trace_id = k.trace_id), 0) as bytes
    from trace_ids k
    join traces t on t.org_id = k.org_id and t.project_id = k.project_id and t.period = k.period
      and t.trace_id = k.trace_id
    where k.org_id = ${orgId} and k.project_id = ${projectId} and k.trace_id > ${after}
      and t.created_at <= ${until}::text::timestamptz
    order by k.trace_id limit ${PAGE_TRACES}`
}

function countUpTo(traces: readonly SizedTrace[], max: number) {
  let bytes = 0
  const tooMany = traces.findIndex((trace) => (bytes += trace.bytes) > max)
  return tooMany === -1 ? traces.length : Math.max(1, tooMany)
}

async function listLines(
  tx: Transaction,
  scope: BackupScope,
  projectId: string,
  { kinds, traces }: { kinds: readonly Kind[]; traces: readonly SizedTrace[] },
): Promise<Line[]> {
  const ids = traces.map(({ trace_id }) => trace_id)
  const periods = [...new Set(traces.map(({ period }) => period.getTime()))]
  const lists = kinds.map(async (kind) => {
    const inPeriods = kind.without.includes('period')
      ? tx`and t.period = any(${periods.map((time) => new Date(time).toISOString())}::date[])`
      : tx``
    const rows = await listLineRows(
      tx,
      kind,
      scope,
      tx`and t.project_id = ${projectId} and t.trace_id = any(${ids}::text[]) ${inPeriods}
        order by ${tx.unsafe(columnsOf(kind, kind.order.slice(1)).join())}`,
    )
    return byTrace(kind, rows)
  })
  const found = await Promise.all(lists)
  return ids.flatMap((id) => found.flatMap((lines) => lines.get(id) ?? []))
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

const PAGE_BYTES = 4 << 20
const PAGE_TRACES = 500
