import type { Kind } from '../../jobs/rules/import/backup/kind.ts'
import type { Fragment, Transaction } from '../core/db.ts'
import { jsonText } from '../core/db.ts'
import { skillDocument } from '../skills/skills.ts'
import { CHAINS } from './restored-chains.ts'

/** The columns of a row, beside its organization. */
export type RestoredRow = Readonly<Record<string, unknown>>

/** What became of each row: it was stored, was there already, or something else is under its key. */
export type RestoreOutcome = 'restored' | 'skipped' | 'conflict'

/**
 * Inserts rows of one kind as they were in a backup, but for those whose key, or number, or id the
 * organization has already. All rows have the same columns. Rows about a trace go to its period.
 */
export async function insertRestoredRows(
  tx: Transaction,
  orgId: string,
  kind: Kind,
  rows: readonly RestoredRow[],
): Promise<RestoreOutcome[]> {
  const columns = Object.keys(rows[0] ?? {})
  const key = keyColumns(kind)
  // Of rows under one key another one may be the one that was inserted.
  const row = columns.includes('id') ? [...new Set([...key, 'id'])] : key
  const same = CHAINS[kind.name]?.same
  const isSameKey = equal(tx, key)
  const isSame = same ? tx`t.${tx(same)} is not distinct from g.${tx(same)}` : tx`true`
  const isShown = kind.name === 'skill' ? tx`t.deleted_at is null` : tx`true`
  const returned = [...new Set([...row, ...(same ? [same] : [])])]
  const { period, joinPeriod } = periodOf(tx, orgId, kind)
  const document = kind.name === 'skill' ? skillDocument(tx, tx`g`) : null
  const told = await tx<{ place: number; outcome: RestoreOutcome }[]>`
    with given as materialized (
      select g.*, row_number() over (partition by ${listed(tx, row, tx`g.`)} order by ordinality) as nth
      from json_populate_recordset(null::${tx(kind.table)}, ${jsonText(rows)}::text::json)
        with ordinality g
    ), inserted as (
      insert into ${tx(kind.table)} (org_id, ${listed(tx, columns, tx``)} ${period ? tx`, period` : tx``}
        ${document ? tx`, document` : tx``})
      select ${orgId}, ${listed(tx, columns, tx`g.`)} ${period ? tx`, ${period}` : tx``}
        ${document ? tx`, ${document}` : tx``}
      from given g ${joinPeriod}
      order by ordinality
      on conflict do nothing
      returning ${listed(tx, returned, tx``)}
    )
    select ordinality::int as place, case
      when nth = 1 and exists (select from inserted t where ${equal(tx, row)}) then 'restored'
      when exists (select from inserted t where ${isSameKey} and ${isSame}) or exists (
        select from ${tx(kind.table)} t
        where t.org_id = ${orgId} and ${isSameKey} and ${isShown} and ${isSame}) then 'skipped'
      else 'conflict' end as outcome
    from given g order by ordinality`
  return told.map(({ outcome }) => outcome)
}

/** Whether row `t` has the values of row `g` in these columns. */
function equal(tx: Transaction, columns: readonly string[]) {
  return all(tx, columns, (column) => tx`t.${tx(column)} = g.${tx(column)}`)
}

/** The columns of a kind's key; two members may name one of them together. */
function keyColumns({ key, members }: Kind) {
  const columns = key.map((name) => members.find((member) => member.name === name)?.column)
  return [...new Set(columns.filter((column) => typeof column === 'string'))]
}

function periodOf(tx: Transaction, orgId: string, { table, isFollower }: Kind) {
  if (!isFollower) return { period: null, joinPeriod: tx`` }
  const joinPeriod = tx`join trace_ids k on k.org_id = ${orgId} and k.project_id = g.project_id
    and k.trace_id = g.trace_id`
  return { period: PERIODIC.has(table) ? tx`k.period` : null, joinPeriod }
}

function all(tx: Transaction, columns: readonly string[], each: (column: string) => Fragment) {
  return columns.map(each).reduce((left, right) => tx`${left} and ${right}`)
}

/** @param row what stands before each column: nothing, or the name of a row */
function listed(tx: Transaction, columns: readonly string[], row: Fragment) {
  return columns
    .map((column) => tx`${row}${tx(column)}`)
    .reduce((left, right) => tx`${left}, ${right}`)
}

/** Tables whose rows are in the period of their trace. */
const PERIODIC: ReadonlySet<string> = new Set(['eval_scores', 'verdicts'])
