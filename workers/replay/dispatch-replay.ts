import { dispatchReplay } from '../../jobs/dispatch-replay.ts'
import type { Checkpoint } from '../../jobs/job.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { claimTasks } from '../../sql/replay/leases.ts'
import type { LeasedTask } from '../../sql/replay/leases.ts'
import { countTasks, lockPushBatch, pauseBatch } from '../../sql/replay/pushed-tasks.ts'
import type { PushBatch } from '../../sql/replay/pushed-tasks.ts'
import { CONTINUE, continueAfter, handler, MAX_WAIT_SECONDS } from '../runtime/handler.ts'
import type { Outcome, ResumableRun } from '../runtime/handler.ts'
import { findPauseReason, noteNews, readState, toCheckpoint } from './push-state.ts'
import { MAX_REQUEST_MS } from './push-task.ts'
import { sendTasks } from './send-tasks.ts'
import type { Sender } from './send-tasks.ts'
import { openLine, openSending } from './sending.ts'

export interface DispatchOptions {
  /** After this time the job continues in another run, so that others get their turn; default 120. */
  readonly sliceSeconds?: number
  /** Nothing is sent for so long after a failure, times the failures in a row; default 1. */
  readonly backoffSeconds?: number
  /** How long a run waits for what its runner has before it leaves its slot to others; default 10. */
  readonly patienceSeconds?: number
  /** How long a stopping worker lets requests go on; default 5. */
  readonly drainSeconds?: number
}

export const dispatchReplayHandler = dispatchHandler()

/**
 * Sends tasks, as many at once as the runner may have, and waits for those that the runner submits
 * itself: at first in its slot, then without one. How many it has is asked of the tasks, so that a worker
 * that is lost forgets none.
 */
export function dispatchHandler({
  sliceSeconds = 120,
  backoffSeconds = 1,
  patienceSeconds = 10,
  drainSeconds = 5,
}: DispatchOptions = {}) {
  return handler(dispatchReplay, async ({ batch_id: batchId }, run) => {
    const state = readState(run.checkpointed, run.now())
    const sending = openSending()
    const limits = { sliceSeconds, backoffSeconds, patienceSeconds, drainSeconds }
    const jobId = run.jobId ?? null
    const dispatch: Dispatch = { run, batchId, jobId, state, sending, limits, alone: openLine() }
    try {
      const { outcome } = await dispatchSlice(dispatch)
      await saveState(dispatch)
      return outcome
    } finally {
      // After an error of ours what runners answer still counts.
      await sending.allEnd(MAX_REQUEST_MS, run.signal)
      await sending.end(run.signal.reason === 'draining' ? drainSeconds * 1000 : 0)
    }
  })
}

/** Ends when no request is under way and there is nothing to send for now. */
async function dispatchSlice(dispatch: Dispatch): Promise<Ending> {
  const { run, sending, limits } = dispatch
  const until = performance.now() + limits.sliceSeconds * 1000
  for (;;) {
    run.signal.throwIfAborted()
    const underWay = sending.count()
    const isOver = performance.now() >= until
    const step = isOver ? SLICE_OVER : await dispatch.alone(() => takeStep(dispatch))
    // What ended during the step may have changed what is to be done.
    if (step === 'sent' || sending.count() < underWay) continue
    if (step !== 'wait' && underWay === 0) return step
    await sending.oneEnds(LOOK_MS, run.signal)
  }
}

/** Sends what may be sent now, or says how the run ends once what is under way has ended. */
async function takeStep(dispatch: Dispatch): Promise<Step> {
  const { run, state } = dispatch
  const reason = findPauseReason(state)
  const paused = reason === undefined ? undefined : await pause(dispatch, reason)
  if (paused) return paused
  const waitMs = state.notBefore - run.now().getTime()
  if (waitMs > 0) return { outcome: waitFor(waitMs / 1000) }
  const claimed = await claim(dispatch)
  if (!claimed) return STOPPED
  const { batch, tasks } = claimed
  if (batch.is_revoked) return (await pause(dispatch, 'key_revoked')) ?? STOPPED
  if (tasks.length > 0) {
    noteNews(state, run.now())
    await sendTasks(dispatch, batch, tasks)
    return 'sent'
  }
  if (batch.leased > 0) return waitForRunner(dispatch, batch)
  // A task that was given back meanwhile may have been passed over.
  const { total, ended } = await countTasks(run.sql, run.orgId, dispatch.batchId)
  return { outcome: ended < total ? continueAfter(1) : { status: 'completed' } }
}

/** Undefined when nothing is left to be sent. */
async function pause(
  { run, batchId, jobId, sending }: Dispatch,
  reason: string,
): Promise<Step | undefined> {
  // One of the requests under way may succeed.
  if (sending.count() > 0) return 'wait'
  const isPaused = await pauseBatch(run.sql, run.orgId, { batchId, jobId, reason })
  return isPaused ? { outcome: { status: 'paused', reason } } : undefined
}

/** Undefined when nothing of the batch is to be sent any more. */
async function claim({ run, batchId, jobId }: Dispatch) {
  const { sql, orgId } = run
  const work = async (tx: Transaction) => {
    const batch = await lockPushBatch(tx, orgId, { batchId, jobId })
    if (!batch?.is_open) return undefined
    const max = Math.min(batch.max_in_flight - batch.in_flight, CLAIMED_TOGETHER)
    if (max <= 0 || batch.is_revoked) return { batch, tasks: [] }
    const lease = { leaseSeconds: LEASE_SECONDS, leasedBy: null }
    return {
      batch,
      tasks: await claimTasks(tx, orgId, { projectIds: null, batchId, max, ...lease }),
    }
  }
  return sql.begin(work) as Promise<Claimed | undefined>
}

/**
 * Looks again soon while tasks come and go, and without a slot when nothing has for some time: the
 * later the longer that is, but when the first lease ends, whose task is to be sent again.
 */
function waitForRunner({ run, state, limits }: Dispatch, batch: PushBatch): Step {
  const quiet = (run.now().getTime() - state.quietSince) / 1000
  if (quiet < limits.patienceSeconds) return 'wait'
  const seconds = Math.min(quiet * IMPATIENCE, MAX_LOOK_SECONDS)
  return { outcome: waitFor(Math.min(seconds, batch.next_end_seconds ?? seconds)) }
}

/** In whole seconds, rounded up: a wait that ends too early would be followed by another one. */
function waitFor(seconds: number) {
  return continueAfter(Math.min(Math.max(Math.ceil(seconds), 1), MAX_WAIT_SECONDS))
}

async function saveState({ run, batchId, state }: Dispatch) {
  const { total, ended } = await countTasks(run.sql, run.orgId, batchId)
  await run.sql.begin((tx) =>
    run.checkpoint(tx, { done: ended, total, unit: 'tasks' }, toCheckpoint(state)),
  )
}

const STOPPED: Step = { outcome: { status: 'stopped' } }
/** How long a runner may hold a task that it took. */
const LEASE_SECONDS = 600
/** Each has an input of up to 1 MiB. */
const CLAIMED_TOGETHER = 8
/** How often a run looks for what runners submitted. */
const LOOK_MS = 1000
/** The share of the quiet time after which it looks again without a slot. */
const IMPATIENCE = 0.1
const MAX_LOOK_SECONDS = 300

interface Dispatch extends Sender {
  readonly run: ResumableRun<Checkpoint<typeof dispatchReplay>>
  readonly batchId: string
  readonly jobId: string | null
  readonly limits: Required<DispatchOptions>
}

interface Claimed {
  readonly batch: PushBatch
  readonly tasks: readonly LeasedTask[]
}

/** How a run ends. */
interface Ending {
  readonly outcome: Outcome
}

const SLICE_OVER: Ending = { outcome: CONTINUE }

type Step = 'sent' | 'wait' | Ending
