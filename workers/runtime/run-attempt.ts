import type { Transaction } from '../../sql/core/db.ts'
import { claimJob, saveCheckpoint } from '../../sql/jobs/job-claims.ts'
import type { Claim } from '../../sql/jobs/job-claims.ts'
import type { Attempt } from './attempt.ts'
import { ClaimLost, GiveUp } from './give-up.ts'
import { CONTINUE, Waiting } from './handler.ts'
import type { Outcome, ResumableRun } from './handler.ts'
import type { AttemptOutcome } from './outcome.ts'
import { startProgress } from './progress.ts'
import {
  settleCanceled,
  settleDone,
  settleFailure,
  settleUnfinished,
  settleWith,
} from './settle.ts'
import { persistently } from './settlement.ts'

/**
 * Runs a job once: claims its row, calls the handler, and settles the row and the queue in one
 * transaction. The handler returns a result or that the job goes on, or throws GiveUp, the reason of an abort, or
 * another error, after which the job is retried. Throws only when settling fails; the claim then
 * expires and the job is retried.
 */
export async function runAttempt(attempt: Attempt): Promise<AttemptOutcome> {
  const outcome = await claimAndWork(attempt).catch((error: unknown) => {
    if (error instanceof ClaimLost) return 'dropped' as const
    throw error
  })
  const { job_id: jobId } = attempt.queued.data
  if (jobId && ENDED.has(outcome)) attempt.context.queue.announceEnd(jobId)
  return outcome
}

async function claimAndWork(attempt: Attempt): Promise<AttemptOutcome> {
  const { context, queued, worker, abort } = attempt
  const { org_id: orgId, job_id: id } = queued.data
  if (!id || orgId === null) return work(attempt, undefined, undefined)
  const queueClaim = { orgId, id, queueJobId: queued.id, queueAttempt: queued.retryCount, worker }
  const claimed = await persistently(abort.signal, () => claimJob(context.sql, queueClaim))
  if (!claimed) {
    await attempt.complete(queued)
    return 'dropped'
  }
  const claim = { orgId, id, attempt: claimed.attempt }
  if (claimed.state === 'cancelling') return settleCanceled(attempt, claim)
  return work(attempt, claim, claimed.checkpoint ?? undefined)
}

async function work(attempt: Attempt, claim: Claim | undefined, stored: object | undefined) {
  const { handler, abort } = attempt
  const progress = startProgress(attempt, claim)
  let outcome: Outcome
  try {
    abort.signal.throwIfAborted()
    const payload = readPayload(attempt)
    const run = makeRun(attempt, claim, stored, progress)
    if (handler.transactional) {
      return await settleWith(attempt, claim, (tx) => handler.work(payload, run, tx))
    }
    outcome = await handler.work(payload, run)
  } catch (error) {
    await progress.end()
    return settleFailure(attempt, claim, error)
  }
  await progress.end()
  if (outcome === CONTINUE) return settleUnfinished(attempt, claim)
  if (outcome instanceof Waiting) return settleUnfinished(attempt, claim, outcome.seconds)
  return settleDone(attempt, claim, outcome ?? {})
}

function readPayload({ handler, queued }: Attempt) {
  const { error, value } = handler.job.payload.validate(queued.data.payload)
  if (error) throw new GiveUp('invalid_payload', `Payload of ${queued.name}: ${error.message}`)
  return value
}

/** Checked when it is written too, because the run that reads a wrong one can only give up. */
function checkCheckpoint({ handler, queued }: Attempt, checkpoint: object) {
  const { checkpoint: shape } = handler.job
  if (!shape) throw new TypeError(`A job of ${queued.name} declares no checkpoint`)
  const { error, value } = shape.validate(checkpoint)
  if (error)
    throw new GiveUp('invalid_checkpoint', `Checkpoint of ${queued.name}: ${error.message}`)
  return value
}

function makeRun(
  attempt: Attempt,
  claim: Claim | undefined,
  stored: object | undefined,
  progress: ReturnType<typeof startProgress>,
): ResumableRun<object> {
  const { context, queued, abort } = attempt
  return {
    ...context,
    orgId: queued.data.org_id ?? '',
    jobId: queued.data.job_id,
    attempt: claim?.attempt ?? queued.retryCount + 1,
    checkpointed: stored && checkCheckpoint(attempt, stored),
    signal: abort.signal,
    progress: progress.put,
    async checkpoint(tx: Transaction, done, checkpoint) {
      progress.forget()
      if (!claim) throw new TypeError(`An internal job of ${queued.name} has nowhere to checkpoint`)
      const checked = checkpoint && checkCheckpoint(attempt, checkpoint)
      if (!(await saveCheckpoint(tx, claim, done, checked))) throw new ClaimLost()
    },
  }
}

/** Outcomes after which nobody waits for the job. Another worker ended a dropped one. */
const ENDED: ReadonlySet<AttemptOutcome> = new Set([
  'done',
  'canceled',
  'gave_up',
  'failed',
  'dropped',
])
