import { setTimeout } from 'node:timers/promises'
import { bossDatabase, countAffected } from '../../jobs/pg-boss.ts'
import { messageOf } from '../../jobs/rules/core/error-message.ts'
import { RELEASED_PRIORITY } from '../../jobs/queue.ts'
import type { EnqueueOptions } from '../../jobs/queue.ts'
import { isConnectionLost, isDatabaseAway } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import {
  cancelClaimedJob,
  continueJob,
  failJob,
  requeueJob,
  succeedJob,
} from '../../sql/jobs/job-claims.ts'
import type { Claim } from '../../sql/jobs/job-claims.ts'
import type { JobError } from '../../sql/jobs/jobs.ts'
import { findContinuationTurn } from '../../sql/jobs/pg-boss.ts'
import type { Attempt, QueuedJob, StopReason } from './attempt.ts'
import { ClaimLost, GiveUp, ThreadEnded } from './give-up.ts'
import type { AttemptOutcome } from './outcome.ts'

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
  return persistently(attempt, async () => {
    if (claim) return settleWith(attempt, claim, async () => result)
    await attempt.complete(attempt.queued)
    return 'done'
  })
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
  if (isConnectionLost(error)) {
    context.log.warn({ queue: queued.name, job_id: claim?.id, err: error }, 'the database was away')
    return settleContinued(attempt, claim, 'released', AWAY_SECONDS)
  }
  if (error instanceof ThreadEnded && !queued.data.alone) return settleSuspected(attempt, claim)
  if (error instanceof GiveUp) {
    context.log.warn({ queue: queued.name, job_id: claim?.id, code: error.code }, error.message)
    return settleGivenUp(attempt, claim, error)
  }
  context.log.error({ queue: queued.name, job_id: claim?.id, err: error }, 'job failed')
  return settleFailed(attempt, claim, error)
}

export async function settleCanceled(attempt: Attempt, claim: Claim): Promise<AttemptOutcome> {
  await inTransaction(attempt, async (tx) => {
    if (!(await cancelClaimedJob(tx, claim))) throw new ClaimLost()
    await completeIn(tx, attempt)
  })
  return 'canceled'
}

/**
 * Ends this claim and enqueues the job again under a new queue row, so that no attempt is lost.
 * @param delaySeconds until it may begin
 */
export async function settleContinued(
  attempt: Attempt,
  claim: Claim | undefined,
  outcome: 'released' | 'continued',
  delaySeconds = 0,
): Promise<AttemptOutcome> {
  const { queued } = attempt
  await inTransaction(attempt, async (tx) => {
    const released = {
      priority: RELEASED_PRIORITY,
      startAfterSeconds: delaySeconds,
      ...(queued.data.alone && { alone: true, retryLimit: retriesLeft(queued) }),
    }
    const id = await enqueueAgain(
      tx,
      attempt,
      outcome === 'released'
        ? released
        : { priority: await findContinuationTurn(tx, queued.name, queued.priority) },
    )
    // A `short` queue may hold a job of this key already, which then does this one's work too.
    if (claim && !(id && (await continueJob(tx, claim, id, outcome)))) throw new ClaimLost()
  })
  return outcome
}

/** Ends this queue row and puts the same job into a new one, whose attempts begin anew. */
async function enqueueAgain(
  tx: Transaction,
  attempt: Attempt,
  options: Pick<EnqueueOptions, 'priority' | 'startAfterSeconds' | 'alone' | 'retryLimit'>,
) {
  const { context, handler, queued } = attempt
  const { org_id: orgId, job_id: jobId, payload } = queued.data
  await completeIn(tx, attempt)
  return context.queue.enqueue(tx, handler.job, payload, {
    orgId,
    ...(jobId && { jobId }),
    ...(queued.singletonKey && { key: queued.singletonKey }),
    ...options,
  })
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
  if (queued.data.alone && !(error instanceof ThreadEnded)) {
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

/** Runs the job again alone, as after the loss of a process; the attempt counts if that fails, too. */
async function settleSuspected(
  attempt: Attempt,
  claim: Claim | undefined,
): Promise<AttemptOutcome> {
  await inTransaction(attempt, async (tx) => {
    const id = await enqueueAgain(tx, attempt, {
      priority: RELEASED_PRIORITY,
      alone: true,
      retryLimit: Math.max(0, retriesLeft(attempt.queued) - 1),
    })
    if (claim && !(id && (await continueJob(tx, claim, id, 'released')))) throw new ClaimLost()
  })
  return 'released'
}

/**
 * A job that ran alone has failed, but ended no process: it runs among others again, and the claim that
 * was lost beside them is handed back.
 */
async function settleAcquitted(
  attempt: Attempt,
  claim: Claim | undefined,
  error: unknown,
): Promise<AttemptOutcome> {
  const { handler, queued } = attempt
  await inTransaction(attempt, async (tx) => {
    const id = await enqueueAgain(tx, attempt, {
      priority: queued.priority,
      startAfterSeconds: handler.job.queue.retryDelaySeconds,
      retryLimit: retriesLeft(queued),
    })
    if (claim && !(id && (await requeueJob(tx, claim, describe(error), id)))) throw new ClaimLost()
  })
  return 'retried'
}

/** How many attempts may follow the present one. */
function retriesLeft({ retryLimit, retryCount }: QueuedJob) {
  return Math.max(0, retryLimit - retryCount)
}

async function inTransaction(attempt: Attempt, work: (tx: Transaction) => Promise<void>) {
  const { context } = attempt
  await persistently(attempt, () => context.queue.transaction(context.sql, work))
}

/**
 * Tries again for as long as the database is away, so that neither its restart nor a longer outage makes
 * a finished job run again. A transaction may have committed before its connection was lost. The claim
 * is gone then, and the next try ends with ClaimLost.
 */
export async function persistently<T>({ abort }: Attempt, settle: () => Promise<T>): Promise<T> {
  for (let waitMs = 50; ; waitMs = Math.min(2 * waitMs, 1000)) {
    try {
      return await settle()
    } catch (error) {
      if (abort.signal.reason === 'claim_lost' || !isDatabaseAway(error)) throw error
      // A process that was stopped meanwhile does not wait for it.
      await setTimeout(waitMs, undefined, { ref: false })
    }
  }
}

async function completeIn(tx: Transaction, { boss, queued }: Attempt) {
  requireHeld(await boss.complete(queued.name, queued, null, { db: bossDatabase(tx) }))
}

function requireHeld(response: object) {
  if (countAffected(response) !== 1) throw new ClaimLost()
}

/** Clients see no details of internal errors; they are in the log and in the queue row. */
function describe(error: unknown): JobError {
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

/** Before a run that lost its database is tried again. */
const AWAY_SECONDS = 1
