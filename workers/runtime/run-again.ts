import { RELEASED_PRIORITY } from '../../jobs/queue.ts'
import type { EnqueueOptions, RunMarks } from '../../jobs/queue.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { continueJob, requeueJob } from '../../sql/jobs/job-claims.ts'
import type { Claim } from '../../sql/jobs/job-claims.ts'
import { findContinuationTurn } from '../../sql/jobs/pg-boss.ts'
import type { Attempt, QueuedJob } from './attempt.ts'
import { ClaimLost } from './give-up.ts'
import type { AttemptOutcome } from './outcome.ts'
import { completeIn, describe, inTransaction } from './settlement.ts'

/**
 * Each function ends a run whose job goes on in a new queue row, so that its attempts are counted anew.
 * @throws ClaimLost when another worker holds the job by now; nothing has changed then
 */

/**
 * Ends this claim and enqueues the job again under a new queue row, so that no attempt is lost.
 * @param options `delaySeconds` until it may begin, default 0; `cuts` as in its marks
 * @throws ClaimLost also when a job that has `continued` is to be canceled
 */
export async function settleContinued(
  attempt: Attempt,
  claim: Claim | undefined,
  outcome: 'released' | 'continued',
  { delaySeconds = 0, cuts = 0 } = {},
): Promise<AttemptOutcome> {
  const { queued } = attempt
  await inTransaction(attempt, async (tx) => {
    const released = {
      priority: RELEASED_PRIORITY,
      startAfterSeconds: delaySeconds,
      marks: { ...marksOf(queued), ...(cuts && { cuts }) },
      ...(queued.data.alone && { retryLimit: retriesLeft(queued) }),
    }
    const id = await enqueueAgain(
      tx,
      attempt,
      outcome === 'released'
        ? released
        : {
            priority: await findContinuationTurn(tx, queued.name, queued.priority),
            startAfterSeconds: delaySeconds,
          },
    )
    // A `short` queue may hold a job of this key already, which then does this one's work too.
    if (claim && !(id && (await continueJob(tx, claim, id, outcome)))) throw new ClaimLost()
  })
  return outcome
}

/** Runs the job again alone, as after the loss of a process; the attempt counts if that fails, too. */
export async function settleSuspected(
  attempt: Attempt,
  claim: Claim | undefined,
): Promise<AttemptOutcome> {
  await inTransaction(attempt, async (tx) => {
    const left = retriesLeft(attempt.queued)
    const id = await enqueueAgain(tx, attempt, {
      priority: RELEASED_PRIORITY,
      marks: { alone: true, ...(left === 0 && { spent: true }) },
      retryLimit: Math.max(0, left - 1),
    })
    if (claim && !(id && (await continueJob(tx, claim, id, 'released')))) throw new ClaimLost()
  })
  return 'released'
}

/**
 * A job that ran alone has failed, but ended no process: it runs among others again, and the claim that
 * was lost beside them is handed back.
 */
export async function settleAcquitted(
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

/** Ends this queue row and puts the same job into a new one, whose attempts begin anew. */
async function enqueueAgain(
  tx: Transaction,
  attempt: Attempt,
  options: Pick<EnqueueOptions, 'priority' | 'startAfterSeconds' | 'marks' | 'retryLimit'>,
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

/** Those that hold until a run ends by itself. */
function marksOf({ data }: QueuedJob): RunMarks {
  return { ...(data.alone && { alone: true }), ...(data.spent && { spent: true }) }
}

/** How many attempts may follow the present one. */
function retriesLeft({ retryLimit, retryCount }: QueuedJob) {
  return Math.max(0, retryLimit - retryCount)
}
