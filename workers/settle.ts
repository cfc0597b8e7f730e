import { setTimeout } from 'node:timers/promises'
import { bossDatabase } from '../jobs/queue.ts'
import { isDatabaseAway } from '../sql/db.ts'
import type { Transaction } from '../sql/db.ts'
import {
  cancelClaimedJob,
  continueJob,
  failJob,
  requeueJob,
  succeedJob,
} from '../sql/job-claims.ts'
import type { Claim } from '../sql/job-claims.ts'
import type { JobError } from '../sql/jobs.ts'
import { findContinuationTurn } from '../sql/queue-rows.ts'
import { ClaimLost, GiveUp } from './give-up.ts'
import type { AttemptOutcome, StopReason } from './give-up.ts'
import type { Attempt } from './queued-job.ts'

/**
 * How a run ends: each function changes the job's row and its queue row in one transaction, under the
 * claim of both. `claim` is undefined for an internal job, which has only a queue row.
 * @throws ClaimLost when somebody else holds the job by now; nothing is changed then
 */

/** Does the last of the work in the transaction that settles: all of it or nothing. */
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

/** By what was thrown, and by why the run was told to stop, if it was. */
export async function settleFailure(
  attempt: Attempt,
  claim: Claim | undefined,
  error: unknown,
): Promise<AttemptOutcome> {
  const { context, queued, abort } = attempt
  const reason = abort.signal.aborted ? (abort.signal.reason as StopReason) : undefined
  if (error instanceof ClaimLost || reason === 'claim_lost') return 'dropped'
  if (reason === 'cancelled' && claim) return settleCancelled(attempt, claim)
  if (reason === 'draining') return settleContinued(attempt, claim, 'released')
  if (error instanceof GiveUp) {
    context.log.warn({ queue: queued.name, job_id: claim?.id, code: error.code }, error.message)
    return settleGivenUp(attempt, claim, error)
  }
  context.log.error({ queue: queued.name, job_id: claim?.id, err: error }, 'job failed')
  return settleFailed(attempt, claim, error)
}

export async function settleCancelled(attempt: Attempt, claim: Claim): Promise<AttemptOutcome> {
  await inTransaction(attempt, async (tx) => {
    if (!(await cancelClaimedJob(tx, claim))) throw new ClaimLost()
    await completeIn(tx, attempt)
  })
  return 'cancelled'
}

/** Ends this claim and puts the job back at once under a new queue row: no attempt is lost. */
export async function settleContinued(
  attempt: Attempt,
  claim: Claim | undefined,
  outcome: 'released' | 'continued',
): Promise<AttemptOutcome> {
  const { context, handler, queued } = attempt
  await inTransaction(attempt, async (tx) => {
    await completeIn(tx, attempt)
    const id = await context.queue.enqueue(tx, handler.job, queued.data.payload, {
      orgId: queued.data.org_id,
      ...(claim && { jobId: claim.id }),
      ...(queued.singletonKey && { key: queued.singletonKey }),
      priority:
        outcome === 'released'
          ? RELEASED_PRIORITY
          : await findContinuationTurn(tx, queued.name, queued.priority),
    })
    // A `short` queue may hold a job of this key already, which then does this one's work too.
    if (claim && !(id && (await continueJob(tx, claim, id, outcome)))) throw new ClaimLost()
  })
  return outcome
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
  const last = queued.retryCount >= queued.retryLimit
  await inTransaction(attempt, async (tx) => {
    const put = last ? failJob : requeueJob
    if (claim && !(await put(tx, claim, describe(error)))) throw new ClaimLost()
    const db = bossDatabase(tx)
    const told = { ...describe(error), message: messageOf(error) }
    requireHeld(await boss.fail(queued.name, queued, told, { db }))
  })
  return last ? 'failed' : 'retried'
}

async function inTransaction(attempt: Attempt, work: (tx: Transaction) => Promise<void>) {
  const { context } = attempt
  await persistently(attempt, () => context.queue.transaction(context.sql, work))
}

/**
 * Goes on trying while the database is away, so that a finished job is not run again because of a
 * restart. Whether a transaction whose connection was lost has committed is not known; if it has, the
 * claim is gone and the next try ends with ClaimLost.
 */
async function persistently<T>({ abort }: Attempt, settle: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + SETTLE_MS
  for (let waitMs = 50; ; waitMs = Math.min(2 * waitMs, 1000)) {
    try {
      return await settle()
    } catch (error) {
      const hopeless = abort.signal.reason === 'claim_lost' || performance.now() > deadline
      if (hopeless || !isDatabaseAway(error)) throw error
      await setTimeout(waitMs)
    }
  }
}

async function completeIn(tx: Transaction, { boss, queued }: Attempt) {
  requireHeld(await boss.complete(queued.name, queued, null, { db: bossDatabase(tx) }))
}

/** pg-boss leaves the members of its responses out of its types. */
function requireHeld(response: object) {
  if ((response as { affected: number }).affected !== 1) throw new ClaimLost()
}

/** What a client sees: of a fault of ours nothing, which only the log and the queue's row tell. */
function describe(error: unknown): JobError {
  if (!(error instanceof GiveUp)) {
    return { code: 'internal_error', message: 'Internal error', retryable: true }
  }
  return {
    code: error.code,
    message: error.message,
    retryable: false,
    ...(error.details && { details: error.details }),
  }
}

function messageOf(error: unknown) {
  return error instanceof Error ? error.message : String(error)
}

/** Longer than a server takes to restart; the claim has to be kept alive meanwhile. */
const SETTLE_MS = 60_000
/** Above all waiting jobs, whose priorities are 0 and less: what was interrupted goes on first. */
const RELEASED_PRIORITY = 100
