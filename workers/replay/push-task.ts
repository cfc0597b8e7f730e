import type { Transaction } from '../../sql/core/db.ts'
import { giveBack, skipTask } from '../../sql/replay/leases.ts'
import type { LeasedTask } from '../../sql/replay/leases.ts'
import { submitReplay } from '../../sql/transactions/submit-replay.ts'
import { request } from '../outbound/request.ts'
import type { Run } from '../runtime/handler.ts'
import { openPlace } from './answer-room.ts'
import { readPushAnswer } from './push-answer.ts'
import type { PushAnswer, PushFault } from './push-answer.ts'
import { pushRequest } from './push-request.ts'
import type { PushedTask } from './push-request.ts'
import { readResult } from './read-result.ts'

/** What came of sending a task. */
export type Pushed =
  /** The runner has it, or it has ended. */
  | { readonly kind: 'submitted' | 'taken' | 'declined' | 'aborted' }
  /** It waits again: nothing is to be sent for so long, */
  | { readonly kind: 'later'; readonly seconds: number }
  /** until the organization has quota for its result, */
  | { readonly kind: 'over_quota' }
  /** or for its next attempt, unless this was its last. */
  | { readonly kind: 'failed'; readonly fault: PushFault }

/**
 * Sends a task once and does what the answer says.
 * @param signal ends the request; the task waits again then, with its attempt given back
 */
export async function pushTask(
  run: Run,
  url: string,
  pushed: PushedTask,
  signal: AbortSignal,
): Promise<Pushed> {
  const started = performance.now()
  const place = openPlace(run.orgId)
  try {
    const outcome = await request(run.outbound.agents, {
      method: 'POST',
      url,
      ...pushRequest(pushed, run.outbound),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_ANSWER_BYTES,
      room: place,
      signal,
    })
    const came = await apply(run, pushed.task, readPushAnswer(outcome, run.now()))
    run.meter.replayPushed(came.kind, (performance.now() - started) / 1000)
    return came
  } finally {
    place.leave()
  }
}

async function apply(run: Run, task: LeasedTask, answer: PushAnswer): Promise<Pushed> {
  switch (answer.kind) {
    case 'taken':
      return answer
    case 'result':
      return submit(run, task, answer.body)
    case 'declined':
      await skipTask(run.sql, task, 'runner_declined')
      return answer
    case 'later':
    case 'aborted':
      await giveBack(run.sql, task, { counted: false, reason: answer.kind })
      return answer
    case 'failed':
      return fail(run, task, answer.fault)
  }
}

/** The lease is the runner's, which need not repeat its token. */
async function submit(run: Run, task: LeasedTask, body: Buffer): Promise<Pushed> {
  const { sql, queue, orgId, quotas } = run
  const at = run.now()
  const submission = await readResult(body, at)
  if (!submission) return fail(run, task, 'invalid_result')
  const held = { ...submission, lease_token: submission.lease_token ?? task.lease_token }
  const outcome = await queue.transaction(sql, (tx: Transaction) =>
    submitReplay(tx, queue, { orgId, quotas, at }, task.id, held),
  )
  switch (outcome.kind) {
    case 'stored':
    case 'repeated':
      return { kind: 'submitted' }
    case 'over_quota':
      await giveBack(sql, task, { counted: false, reason: outcome.kind })
      return { kind: 'over_quota' }
    default:
      return fail(run, task, 'refused_result')
  }
}

/** A runner that has submitted the task itself meanwhile did not fail, whatever it answered. */
async function fail({ sql }: Run, task: LeasedTask, fault: PushFault): Promise<Pushed> {
  const left = await giveBack(sql, task, { counted: true, reason: fault })
  return left ? { kind: 'failed', fault } : { kind: 'taken' }
}

const TIMEOUT_MS = 30_000
const MAX_ANSWER_BYTES = 16 << 20
