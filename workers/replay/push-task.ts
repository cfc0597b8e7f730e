import { isConnectionLost } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { skipTask } from '../../sql/replay/leases.ts'
import type { LeasedTask } from '../../sql/replay/leases.ts'
import { submitReplay } from '../../sql/transactions/submit-replay.ts'
import { request } from '../outbound/request.ts'
import type { Run } from '../runtime/handler.ts'
import { persistently } from '../runtime/settlement.ts'
import { openAnswerRoom } from './answer-room.ts'
import { readPushAnswer } from './push-answer.ts'
import type { PushAnswer, PushFault } from './push-answer.ts'
import { pushRequest } from './push-request.ts'
import type { PushedTask } from './push-request.ts'
import { readResult } from './read-result.ts'

/** What came of sending a task. */
export type Pushed =
  /** The runner has it, or may have it, or it has ended. */
  | { readonly kind: 'submitted' | 'taken' | 'aborted' | 'declined' }
  /** The caller gives it back: at no attempt, */
  | { readonly kind: 'later'; readonly seconds: number }
  /** or at one. */
  | { readonly kind: 'over_quota' }
  | { readonly kind: 'failed'; readonly fault: PushFault }

export interface PushOptions {
  /** Of the runner. */
  readonly url: string
  /** Ends the request. */
  readonly signal: AbortSignal
}

/** Sends a task once, and applies the result that the answer holds. */
export async function pushTask(
  run: Run,
  pushed: PushedTask,
  { url, signal }: PushOptions,
): Promise<Pushed> {
  const started = performance.now()
  const place = room.openPlace(run.orgId)
  try {
    const outcome = await request(run.outbound.agents, {
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
  if (answer.kind === 'result') return submit(run, task, answer.body)
  if (answer.kind === 'declined') {
    const skip = () => skipTask(run.sql, task, 'runner_declined')
    await persistently(run.signal, skip, isConnectionLost)
  }
  return answer
}

/** The lease is the runner's, which need not repeat its token. */
async function submit(run: Run, task: LeasedTask, body: Buffer): Promise<Pushed> {
  const { sql, queue, orgId, quotas, contentForm } = run
  const at = run.now()
  const submission = await readResult(body, at)
  if (!submission) return { kind: 'failed', fault: 'invalid_result' }
  const held = { ...submission, lease_token: submission.lease_token ?? task.lease_token }
  const charge = { orgId, quotas, at, contentForm }
  const work = (tx: Transaction) => submitReplay(tx, queue, charge, task.id, held)
  const outcome = await persistently(
    run.signal,
    () => queue.transaction(sql, work),
    isConnectionLost,
  )
  switch (outcome.kind) {
    case 'stored':
    case 'repeated':
      return { kind: 'submitted' }
    case 'over_quota':
      return { kind: 'over_quota' }
    case 'invalid':
    case 'lease_lost':
    case 'leased':
    case 'task_ended':
    case 'trace_exists':
    case 'unknown_task':
    case 'unknown_trace':
      return { kind: 'failed', fault: 'refused_result' }
  }
}

const room = openAnswerRoom()
const TIMEOUT_MS = 30_000
/** How long a task may take to be sent and its answer to be read and stored, while the database is there. */
export const MAX_REQUEST_MS = TIMEOUT_MS + 5000
const MAX_ANSWER_BYTES = 16 << 20
