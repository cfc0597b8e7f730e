import { isSerializationFailure } from '../core/db.ts'
import type { Sql, Transaction } from '../core/db.ts'
import { addDay, addTraces, PAGE_TRACES } from './cell-pages.ts'
import { addFreshCells, openFreshCells, ofDay, replaceCells } from './fresh-cells.ts'
import type { CellKey } from './fresh-cells.ts'

/**
 * Brings the cells of a day up to date with what is marked. Where the day itself is marked, all of its
 * scores are added up anew, and every mark of it goes; else at most `PAGE_TRACES` marked traces are added to
 * what is stored. However many scores the day has, a statement reads those of a page of traces, or compares
 * the sums of a part of the cells; only what differs is written.
 *
 * All statements see one snapshot, so that exactly those scores are added whose marks are taken off. It
 * may be older than the lock of the day: then another worker has taken some of the marks that it shows, and
 * the server ends the transaction that would take them again.
 * @returns 'more' when traces may be marked still; 'taken' when another transaction was at the day: what it
 * has not seen may be left
 */
export async function aggregateDay(sql: Sql, key: CellKey): Promise<'done' | 'more' | 'taken'> {
  try {
    return (await sql.begin('isolation level repeatable read', (tx) =>
      aggregate(tx, key),
    )) as Outcome
  } catch (error) {
    if (isSerializationFailure(error)) return 'taken'
    throw error
  }
}

async function aggregate(tx: Transaction, key: CellKey): Promise<Outcome> {
  if (!(await lockDay(tx, key))) return 'taken'
  if (await takeDayMarks(tx, key)) {
    await openFreshCells(tx)
    await addDay(tx, key)
    await replaceCells(tx, key)
    return 'done'
  }
  const traceIds = await takeTraceMarks(tx, key)
  if (traceIds.length === 0) return 'done'
  await openFreshCells(tx)
  await addTraces(tx, key, traceIds)
  await addFreshCells(tx)
  return traceIds.length < PAGE_TRACES ? 'done' : 'more'
}

/** Keeps other workers off the day. Waits for nobody. */
async function lockDay(tx: Transaction, { projectId, agentName, day }: CellKey) {
  const [row] = await tx<{ locked: boolean }[]>`
    select pg_try_advisory_xact_lock(
      hashtextextended(${`${projectId} ${day} ${agentName}`}::text, ${RECOMPUTING})) as locked`
  return row?.locked ?? false
}

/** Takes all marks off a day that is marked itself; false where only traces of it are, or nothing. */
async function takeDayMarks(tx: Transaction, key: CellKey) {
  const marked = ofDay(tx, key)
  const taken = await tx`
    delete from score_cells_dirty
    where ${marked} and exists (select from score_cells_dirty where ${marked} and trace_id is null)`
  return taken.count > 0
}

/**
 * Takes the marks off a page of traces of a day that is not marked itself. As an array their ids are found
 * by the index, though the planner never has figures of a table that is filled and emptied all the time.
 */
async function takeTraceMarks(tx: Transaction, key: CellKey) {
  const taken = await tx<{ trace_id: string }[]>`
    delete from score_cells_dirty
    where org_id = ${key.orgId} and project_id = ${key.projectId} and id = any(array(
      select id from score_cells_dirty where ${ofDay(tx, key)} order by id limit ${PAGE_TRACES}))
    returning trace_id`
  return taken.map(({ trace_id }) => trace_id)
}

type Outcome = Awaited<ReturnType<typeof aggregateDay>>

/** Second argument of the hash behind the advisory lock: a number that nothing else uses. */
const RECOMPUTING = 7_304_522
