import { dispatchReplay } from '../../jobs/dispatch-replay.ts'
import type { Checkpoint } from '../../jobs/job.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { claimTasks, giveBack, skipTask } from '../../sql/replay/leases.ts'
import type { LeasedTask } from '../../sql/replay/leases.ts'
import { countTasks, lockPushBatch, pauseBatch, PUSHED } from '../../sql/replay/pushed-tasks.ts'
import type { PushBatch } from '../../sql/replay/pushed-tasks.ts'
import { readTaskInputs } from '../../sql/replay/task-inputs.ts'
import { findNotificationSettings } from '../../sql/webhooks/notifications.ts'
import { CONTINUE, continueAfter, handler, MAX_WAIT_SECONDS } from '../runtime/handler.ts'
import type { Outcome, ResumableRun, Run } from '../runtime/handler.ts'
import { findPauseReason, learn, readState, toCheckpoint } from './push-state.ts'
import type { PushState } from './push-state.ts'
import { pushTask } from './push-task.ts'
import type { Pushed } from './push-task.ts'
import { openSending, openTurns } from './sending.ts'
import type { Sending } from './sending.ts'

export interface DispatchOptions {
  /** After this time the job continues in another run, so that others get their turn; default 120. */
  readonly sliceSeconds?: number
  /** Nothing is sent for so long after a failure, twice as long after two in a row; default 1. */
  readonly backoffSeconds?: number
  /** How long a run waits for what its runner has before it leaves its slot to others; default 10. */
  readonly patienceSeconds?: number
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
}: DispatchOptions = {}) {
  return handler(dispatchReplay, async ({ batch_id: batchId }, run) => {
    const state = readState(run.checkpointed, run.now())
    const sending = openSending()
    const limits = { sliceSeconds, backoffSeconds, patienceSeconds }
    const dispatch: Dispatch = { run, batchId, state, sending, limits, alone: openTurns() }
    try {
      const { outcome } = await dispatchSlice(dispatch)
      await saveState(dispatch)
      return outcome
    } finally {
      await sending.end(run.signal.reason === 'draining' ? DRAIN_MS : 0)
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
  if (reason !== undefined) return pause(dispatch, reason)
  const waitMs = state.notBefore - run.now().getTime()
  if (waitMs > 0) return { outcome: waitFor(waitMs / 1000) }
  const claimed = await claim(dispatch)
  if (!claimed) return { outcome: { status: 'stopped' } }
  const { batch, tasks } = claimed
  if (tasks.length > 0) {
    noteNews(dispatch)
    await send(dispatch, batch, tasks)
    return 'sent'
  }
  return batch.leased > 0 ? waitForRunner(dispatch, batch) : { outcome: { status: 'completed' } }
}

async function pause({ run, batchId, sending }: Dispatch, reason: string): Promise<Step> {
  // One of the requests under way may succeed.
  if (sending.count() > 0) return 'wait'
  await pauseBatch(run.sql, run.orgId, batchId, reason)
  return { outcome: { status: 'paused', reason } }
}

/** Undefined when nothing of the batch is to be sent any more. */
async function claim({ run, batchId }: Dispatch) {
  const { sql, orgId } = run
  const work = async (tx: Transaction) => {
    const batch = await lockPushBatch(tx, orgId, batchId)
    if (!batch?.is_open) return undefined
    const max = Math.min(batch.max_in_flight - batch.in_flight, CLAIMED_TOGETHER)
    if (max <= 0) return { batch, tasks: [] }
    const lease = { leaseSeconds: LEASE_SECONDS, leasedBy: PUSHED }
    return {
      batch,
      tasks: await claimTasks(tx, orgId, { projectIds: null, batchId, max, ...lease }),
    }
  }
  return sql.begin(work) as Promise<Claimed | undefined>
}

async function send(dispatch: Dispatch, batch: PushBatch, tasks: readonly LeasedTask[]) {
  const { run, sending } = dispatch
  const { sql, orgId } = run
  const inputs = await readTaskInputs(sql, orgId, tasks)
  const { secret } = await findNotificationSettings(sql, orgId)
  for (const task of tasks) {
    const input = inputs.get(task.id)
    if (!input) {
      await skipTask(sql, task, 'trace_gone')
      continue
    }
    sending.start(async (signal) => {
      const pushed = { task, input, secret, sentAt: run.now() }
      const came = await pushTask(run, pushed, { url: batch.runner_url, signal })
      await dispatch.alone(() => settle(dispatch, task, came))
    })
  }
}

/** Gives back what waits again, and notes what that means for the next look, which comes after it. */
async function settle(dispatch: Dispatch, task: LeasedTask, came: Pushed) {
  const { run, state, limits } = dispatch
  learn(state, await giveBackTask(run, task, came), run.now(), limits.backoffSeconds)
  noteNews(dispatch)
}

async function giveBackTask({ sql }: Run, task: LeasedTask, came: Pushed): Promise<Pushed> {
  switch (came.kind) {
    case 'later':
    case 'aborted':
    case 'over_quota':
      await giveBack(sql, task, { counted: false, reason: came.kind })
      return came
    case 'failed': {
      const left = await giveBack(sql, task, { counted: true, reason: came.fault })
      // A runner that has submitted the task itself meanwhile did not fail, whatever it answered.
      return left ? came : { kind: 'taken' }
    }
    case 'submitted':
    case 'taken':
    case 'declined':
      return came
  }
}

function noteNews({ run, state }: Dispatch) {
  state.quietSince = run.now().getTime()
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

/** Somewhat longer than told, so that the time has come by the clock of the database too. */
function waitFor(seconds: number) {
  return continueAfter(Math.min(Math.max(Math.ceil(seconds), 1), MAX_WAIT_SECONDS))
}

async function saveState({ run, batchId, state }: Dispatch) {
  const { total, ended } = await countTasks(run.sql, run.orgId, batchId)
  await run.sql.begin((tx) =>
    run.checkpoint(tx, { done: ended, total, unit: 'tasks' }, toCheckpoint(state)),
  )
}

/** How long a runner may hold a task that it took. */
const LEASE_SECONDS = 600
/** Each has an input of up to 1 MiB. */
const CLAIMED_TOGETHER = 8
/** How often a run looks for what runners submitted. */
const LOOK_MS = 1000
/** The share of the quiet time after which it looks again without a slot. */
const IMPATIENCE = 0.1
const MAX_LOOK_SECONDS = 300
/** How long a stopping worker lets requests go on. */
const DRAIN_MS = 5000

interface Dispatch {
  readonly run: ResumableRun<Checkpoint<typeof dispatchReplay>>
  readonly batchId: string
  readonly state: PushState
  readonly sending: Sending
  readonly limits: Required<DispatchOptions>
  /** Runs one work after another: no look comes between the end of a task's request and what it taught. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>
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
