import { setTimeout } from 'node:timers/promises'
import { isLockTimeout } from './db.ts'
import type { Sql, Transaction } from './db.ts'

/** Something outside this program keeps a migration from being applied; trying later may help. */
export class MigrationBlocked extends Error {}

/**
 * Runs `work` in a transaction of its own. What waits for a lock on a table makes everybody wait who comes
 * after it, so it waits shortly, and the transaction is tried again.
 * @param name of what waits, for people
 * @throws MigrationBlocked after three minutes
 */
export async function retryLocks<T>(
  sql: Sql,
  name: string,
  work: (tx: Transaction) => Promise<T>,
  report: (sentence: string) => void,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await beginShortly(sql, work)
    } catch (error) {
      if (!isLockTimeout(error)) throw error
    }
    const waits = `${name} waits for a lock that another transaction holds`
    if (tries === MAX_TRIES) throw new MigrationBlocked(`${waits}; it was tried ${tries} times.`)
    if (tries === 1) report(`${waits}; trying again.`)
    await setTimeout(RETRY_MS)
  }
}

async function beginShortly<T>(sql: Sql, work: (tx: Transaction) => Promise<T>): Promise<T> {
  const result = await sql.begin(async (tx) => {
    await tx`set local statement_timeout = 0`
    await tx`set local lock_timeout = '2s'`
    return { value: await work(tx) }
  })
  return result.value
}

const RETRY_MS = 1000
/** Three minutes, with two seconds of waiting for each. */
const MAX_TRIES = 60
