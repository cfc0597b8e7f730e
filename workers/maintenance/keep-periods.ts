import { MigrationBlocked, retryLocks } from '../../sql/core/lock-retries.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { isDivided } from '../../sql/traces/divided.ts'
import {
  analyzeWholes,
  deleteDroppedIds,
  forgetPeriods,
  listDroppedPeriods,
  listExpiredPeriods,
  makePeriods,
} from '../../sql/traces/periods.ts'
import type { Period } from '../../sql/traces/periods.ts'
import { dropPeriod } from '../../sql/transactions/drop-period.ts'
import type { Run } from '../runtime/handler.ts'

/** Makes room for the traces of the next month, and drops those that have been kept as long as they are. */
export async function keepPeriods(run: Run) {
  const { sql, log, tracesKeptDays: keptDays } = run
  if (!(await isDivided(sql))) return
  const now = run.now()
  const make = (tx: Transaction) => makePeriods(tx, now)
  const made = await retryShortly(run, 'Room for the traces of a month', make)
  if (made?.length) log.info({ periods: made }, 'room for the traces of a month made')
  if (keptDays !== undefined) {
    for (const period of await listExpiredPeriods(sql, keptDays, now)) await drop(run, period)
  }
  await sweepIds(run)
  await retryShortly(run, 'Collecting statistics of traces', analyzeWholes)
}

async function drop(run: Run, period: Period) {
  const dropped = await retryShortly(run, `Dropping the traces of ${period}`, (tx) =>
    dropPeriod(tx, period),
  )
  if (!dropped) return
  const traces = dropped.reduce((sum, { count }) => sum + count, 0)
  run.log.info({ period, traces, projects: dropped.length }, 'traces dropped')
}

/** Deletes the ids of dropped traces. A run that has deleted enough leaves the rest to the next one. */
async function sweepIds({ sql, log, signal }: Run) {
  const periods = await listDroppedPeriods(sql)
  if (periods.length === 0) return
  let ids = 0
  for (let page: number | undefined = 0; page !== undefined && ids < IDS_A_RUN;) {
    signal.throwIfAborted()
    const { count, next } = await deleteDroppedIds(sql, periods, page)
    ids += count
    page = next
    if (page === undefined) await forgetPeriods(sql, periods)
  }
  log.info({ periods, ids }, 'ids of dropped traces deleted')
}

/**
 * So few times that requests never wait long.
 * @returns undefined when a lock was not to be had, which the next run tries again
 */
async function retryShortly<T>(
  { sql, log }: Run,
  name: string,
  work: (tx: Transaction) => Promise<T>,
): Promise<T | undefined> {
  const warn = (sentence: string) => log.warn({}, sentence)
  try {
    return await retryLocks(sql, name, work, warn, TRIES)
  } catch (error) {
    if (!(error instanceof MigrationBlocked)) throw error
    warn(error.message)
    return undefined
  }
}

const TRIES = 5
const IDS_A_RUN = 1_000_000
