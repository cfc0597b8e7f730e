import { bossDatabase } from '../../jobs/pg-boss.ts'
import { messageOf } from '../../jobs/rules/core/error-message.ts'
import { StorageAway } from '../../jobs/storage.ts'
import { isConnectionLost } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { cancelClaimedJob, failJob, requeueJob, succeedJob } from '../../sql/jobs/job-claims.ts'
import type { Claim } from '../../sql/jobs/job-claims.ts'
import type { Attempt, StopReason } from './attempt.ts'
import { ClaimLost, GiveUp, OutsideFault, ThreadEnded } from './give-up.ts'
import type { AttemptOutcome } from './outcome.ts'
import { settleAcquitted, settleContinued, settleSuspected } from './run-again.ts'
import { completeIn, describe, inTransaction, persistently, requireHeld } from './settlement.ts'

/**
 * Each function ends a run: it changes the job's row and its queue row in one transaction, under the
 * claims of both. `claim` is undefined for an internal job, which has only a queue row.
 * @throws ClaimLost when another worker holds the job by now; nothing has changed then
 */

/** Calls `finish` in the transaction that settles the job, so that both happen or neither. */
export async function settleWith(
  attempt: Attempt,
  claim: Claim | undefined,
  finish: (tx: Transaction) => Promise<object | void>,
): Promise<AttemptOutcome> {
  const { context } = attempt
  await context.queue.transaction(context.sql, async (tx: Transaction) => {
    const result = await finish(tx)
    if (claim && !(await succeedJob(tx, claim, result ?? {}))) throw new ClaimLost()
    await completeIn(tx, attempt)
  })
  return 'done'
}

export async function settleDone(
  attempt: Attempt,
  claim: Claim | undefined,
  result: object,
): Promise<AttemptOutcome> {
  return persistently(attempt.abort.signal, async () => {
    if (claim) return settleWith(attempt, claim, async () => result)
    await attempt.complete(attempt.queued)
    return 'done'
  })
}

/**
 * Ends a run whose job goes on from its checkpoint in another one, behind others.
 * @param delaySeconds until that may begin
 */
export async function settleUnfinished(
  attempt: Attempt,
  claim: Claim | undefined,
  delaySeconds = 0,
): Promise<AttemptOutcome> {
  try {
    return await settleContinued(attempt, claim, 'continued', { delaySeconds })
  } catch (error) {
    if (!(claim && error instanceof ClaimLost)) throw error
    return settleCanceled(attempt, claim)
  }
}

/** The outcome depends on the error and, when the run was aborted, on the reason. */
export async function settleFailure(
  attempt: Attempt,
  claim: Claim | undefined,
  error: unknown,
): Promise<AttemptOutcome> {
  const { context, queued, abort } = attempt
  const reason: StopReason | undefined = abort.signal.reason
  if (error instanceof ClaimLost || reason === 'claim_lost') return 'dropped'
  if (reason === 'canceled' && claim) return settleCanceled(attempt, claim)
  if (reason === 'draining') return settleContinued(attempt, claim, 'released')
  const cuts = (queued.data.cuts ?? 0) + 1
  if (isConnectionLost(error) && cuts <= FREE_CUTS) {
    context.log.warn({ queue: queued.name, job_id: claim?.id, err: error }, 'the database was away')
    return settleContinued(attempt, claim, 'released', { delaySeconds: AWAY_SECONDS, cuts })
  }
  if (error instanceof ThreadEnded && !queued.data.alone) return settleSuspected(attempt, claim)
  if (error instanceof GiveUp) {
    context.log.warn({ queue: queued.name, job_id: claim?.id, code: error.code }, error.message)
    return settleGivenUp(attempt, claim, error)
  }
  if (await isOutage(context, error)) {
    context.log.warn({ queue: queued.name, job_id: claim?.id, err: error }, 'job waits for storage')
    return settleContinued(attempt, claim, 'released', { delaySeconds: OUTAGE_WAIT_SECONDS })
  }
  const level = error instanceof OutsideFault ? 'warn' : 'error'
  context.log[level]({ queue: queued.name, job_id: claim?.id, err: error }, 'job failed')
  return settleFailed(attempt, claim, error)
}

/**
 * The storage is away for all jobs, so that no attempt is lost by it. An error of one file, while the
 * others can be used, counts.
 */
async function isOutage({ storage }: Attempt['context'], error: unknown) {
  return error instanceof StorageAway && (await storage.findFault()) !== undefined
}

export async function settleCanceled(attempt: Attempt, claim: Claim): Promise<AttemptOutcome> {
  await inTransaction(attempt, async (tx) => {
    if (!(await cancelClaimedJob(tx, claim))) throw new ClaimLost()
    await completeIn(tx, attempt)
  })
  return 'canceled'
}

async function settleGivenUp(
  attempt: Attempt,
  claim: Claim | undefined,
  error: GiveUp,
): Promise<AttemptOutcome> {
  await inTransaction(attempt, async (tx) => {
    if (claim && !(await failJob(tx, claim, describe(error)))) throw new ClaimLost()
    await completeIn(tx, attempt)
  })
  return 'gave_up'
}

async function settleFailed(
  attempt: Attempt,
  claim: Claim | undefined,
  error: unknown,
): Promise<AttemptOutcome> {
  const { boss, queued } = attempt
  const { alone, spent } = queued.data
  if (alone && !spent && !(error instanceof ThreadEnded)) {
    return settleAcquitted(attempt, claim, error)
  }
  const last = queued.retryCount >= queued.retryLimit
  await inTransaction(attempt, async (tx) => {
    const put = last ? failJob : requeueJob
    if (claim && !(await put(tx, claim, describe(error)))) throw new ClaimLost()
    const db = bossDatabase(tx)
    const output = { ...describe(error), message: messageOf(error) }
    requireHeld(await boss.fail(queued.name, queued, output, { db }))
  })
  return last ? 'failed' : 'retried'
}

/** Before a run that lost its database is tried again. */
const AWAY_SECONDS = 1
/** A job that loses its connection more often in a row may be what ends the session, or the server. */
const FREE_CUTS = 3
const OUTAGE_WAIT_SECONDS = 30
