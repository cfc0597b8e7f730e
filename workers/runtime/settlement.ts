import { setTimeout } from 'node:timers/promises'
import { bossDatabase, countAffected } from '../../jobs/pg-boss.ts'
import { isDatabaseAway } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { JobError } from '../../sql/jobs/jobs.ts'
import type { Attempt } from './attempt.ts'
import { ClaimLost, GiveUp, OutsideFault } from './give-up.ts'

/** Runs `work` in a transaction, however often the database goes away meanwhile. */
export async function inTransaction(attempt: Attempt, work: (tx: Transaction) => Promise<void>) {
  const { context, abort } = attempt
  await persistently(abort.signal, () => context.queue.transaction(context.sql, work))
}

/**
 * Tries again for as long as the database is away, so that neither its restart nor a longer outage makes
 * a finished job run again. A transaction may have committed before its connection was lost. The claim
 * is gone then, and the next try ends with ClaimLost; anything else has to be idempotent.
 * @param isPassing which errors are repeated: `isConnectionLost` for work that may itself be why it takes too long
 */
export async function persistently<T>(
  signal: AbortSignal,
  settle: () => Promise<T>,
  isPassing = isDatabaseAway,
): Promise<T> {
  for (let waitMs = 50; ; waitMs = Math.min(2 * waitMs, 1000)) {
    try {
      return await settle()
    } catch (error) {
      if (signal.reason === 'claim_lost' || !isPassing(error)) throw error
      // A process that was stopped meanwhile does not wait for it.
      await setTimeout(waitMs, undefined, { ref: false })
    }
  }
}

/** Ends the queue row. @throws ClaimLost when the claim of it is lost */
export async function completeIn(tx: Transaction, { boss, queued }: Attempt) {
  requireHeld(await boss.complete(queued.name, queued, null, { db: bossDatabase(tx) }))
}

/** @throws ClaimLost unless the queue has changed one row */
export function requireHeld(response: object) {
  if (countAffected(response) !== 1) throw new ClaimLost()
}

/** Clients see no details of internal errors; they are in the log and in the queue row. */
export function describe(error: unknown): JobError {
  if (error instanceof OutsideFault) {
    return { code: error.code, message: error.message, retryable: true }
  }
  if (!(error instanceof GiveUp)) {
    return { code: 'internal_error', message: 'Internal error', retryable: true }
  }
  return {
    code: error.code,
    message: error.message,
    retryable: error.retryable,
    ...(error.details && { details: error.details }),
  }
}
