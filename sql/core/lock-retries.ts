import { setTimeout } from 'node:timers/promises'
import { isLockRefused } from './db.ts'
import type { Sql, Transaction } from './db.ts'

/** Something outside this program keeps a table from being changed; trying later may help. */
export class MigrationBlocked extends Error {}

/**
 * Runs `work` in a transaction of its own. What waits for a lock on a table makes everybody wait who comes
 * after it, so it waits shortly, and the transaction is tried again, each time a little more patiently.
 * @param name of what waits, for people
 * @param mostTries after which it gives up; the default is three minutes' worth
 * @throws MigrationBlocked when it gives up
 */
export async function retryLocks<T>(
  sql: Sql,
  name: string,
  work: (tx: Transaction) => Promise<T>,
  report: (sentence: string) => void,
  mostTries = 100,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await beginShortly(sql, Math.min(tries * MORE_MS, MAX_MS), work)
    } catch (error) {
      if (!isLockRefused(error)) throw error
    }
    const waits = `${name} waits for a lock that another transaction holds`
    if (tries === mostTries) throw new MigrationBlocked(`${waits}; it was tried ${tries} times.`)
    if (tries === 1) report(`${waits}; trying again.`)
    await setTimeout(RETRY_MS)
  }
}

async function beginShortly<T>(
  sql: Sql,
  waitMs: number,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const result = await sql.begin(async (tx) => {
    await tx`set local statement_timeout = 0`
    await tx`select set_config('lock_timeout', ${`${waitMs}ms`}, true)`
    return { value: await work(tx) }
  })
  return result.value
}

const RETRY_MS = 1000
/** How long each try waits for a lock: so much longer than the one before, and never longer than `MAX_MS`. */
const MORE_MS = 100
/**
 * Less than `deadlock_timeout` of the server, a second. Those who hold some of the locks and wait for others
 * would else be found to be in a deadlock with this, and be the ones to fail.
 */
const MAX_MS = 900
