import type { Transaction } from '../sql/db.ts'
import { claimJob, saveCheckpoint } from '../sql/job-claims.ts'
import type { Claim } from '../sql/job-claims.ts'
import { ClaimLost, GiveUp } from './give-up.ts'
import type { AttemptOutcome } from './give-up.ts'
import { CONTINUE } from './handler.ts'
import type { Outcome, Run } from './handler.ts'
import { startProgress } from './progress.ts'
import type { Attempt } from './queued-job.ts'
import {
  settleCancelled,
  settleContinued,
  settleDone,
  settleFailure,
  settleWith,
} from './settle.ts'

/**
 * One run of one job: claims its row, calls the handler, and settles the row and the queue in one
 * transaction by what came of it: a result, CONTINUE, GiveUp, a stop, or any other error, which is
 * retried. Throws only when settling itself fails; the claim then expires and the job is retried.
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
  const { context, queued, worker } = attempt
  const { org_id: orgId, job_id: id } = queued.data
  if (!id || orgId === null) return work(attempt, undefined, undefined)
  const claimed = await claimJob(context.sql, {
    orgId,
    id,
    queueJobId: queued.id,
    queueAttempt: queued.retryCount,
    worker,
  })
  if (!claimed) {
    await attempt.complete(queued)
    return 'dropped'
  }
  const claim = { orgId, id, attempt: claimed.attempt }
  if (claimed.state === 'cancelling') return settleCancelled(attempt, claim)
  return work(attempt, claim, claimed.checkpoint ?? undefined)
}

async function work(attempt: Attempt, claim: Claim | undefined, checkpointed: unknown) {
  const { handler, abort } = attempt
  const progress = startProgress(attempt, claim)
  let outcome: Outcome
  try {
    abort.signal.throwIfAborted()
    const payload = readPayload(attempt)
    const run = makeRun(attempt, claim, checkpointed, progress)
    if (handler.transactional) {
      return await settleWith(attempt, claim, (tx) => handler.work(payload, run, tx))
    }
    outcome = await handler.work(payload, run)
  } catch (error) {
    await progress.end()
    return settleFailure(attempt, claim, error)
  }
  await progress.end()
  if (outcome === CONTINUE) return settleContinued(attempt, claim, 'continued')
  return settleDone(attempt, claim, outcome ?? {})
}

function readPayload({ handler, queued }: Attempt) {
  const { error, value } = handler.job.payload.validate(queued.data.payload)
  if (error) throw new GiveUp('invalid_payload', `Payload of ${queued.name}: ${error.message}`)
  return value as never
}

function makeRun(
  { context, queued, abort }: Attempt,
  claim: Claim | undefined,
  checkpointed: unknown,
  progress: ReturnType<typeof startProgress>,
): Run {
  return {
    ...context,
    orgId: queued.data.org_id ?? '',
    jobId: queued.data.job_id,
    attempt: claim?.attempt ?? queued.retryCount + 1,
    checkpointed,
    signal: abort.signal,
    progress: progress.put,
    async checkpoint(tx: Transaction, done, cursor) {
      progress.forget()
      if (!claim) throw new TypeError(`An internal job of ${queued.name} has nowhere to checkpoint`)
      if (!(await saveCheckpoint(tx, claim, done, cursor))) throw new ClaimLost()
    },
  }
}

/** After which nobody needs to wait for the job; a dropped one was ended by somebody else. */
const ENDED: ReadonlySet<AttemptOutcome> = new Set([
  'done',
  'cancelled',
  'gave_up',
  'failed',
  'dropped',
])
