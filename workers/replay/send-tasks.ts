import { isConnectionLost } from '../../sql/core/db.ts'
import { giveBack, skipTask } from '../../sql/replay/leases.ts'
import type { LeasedTask } from '../../sql/replay/leases.ts'
import type { PushBatch } from '../../sql/replay/pushed-tasks.ts'
import { lackOf, readTaskInputs } from '../../sql/replay/task-inputs.ts'
import { findNotificationSettings } from '../../sql/webhooks/notifications.ts'
import type { Run } from '../runtime/handler.ts'
import { persistently } from '../runtime/settlement.ts'
import { learn, noteNews } from './push-state.ts'
import type { PushState } from './push-state.ts'
import { pushTask } from './push-task.ts'
import type { Pushed } from './push-task.ts'
import type { Sending } from './sending.ts'

/** Who sends tasks, and learns from what comes of them. */
export interface Sender {
  readonly run: Run
  readonly state: PushState
  readonly sending: Sending
  readonly limits: { readonly backoffSeconds: number }
  /** Runs one work after another: no look comes between the end of a task's request and what it taught. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>
}

/** Sends tasks that were claimed. Those that it does not come to are given back. */
export async function sendTasks(sender: Sender, batch: PushBatch, tasks: readonly LeasedTask[]) {
  const { sql, orgId, signal } = sender.run
  const unsent = [...tasks]
  try {
    const { secret } = await findNotificationSettings(sql, orgId)
    for (let task = unsent[0]; task; task = unsent[0]) {
      signal.throwIfAborted()
      await sendTask(sender, task, { url: batch.runner_url, secret })
      unsent.shift()
    }
  } catch (error) {
    const back = { counted: false, reason: 'unsent' }
    await Promise.allSettled(unsent.map((task) => giveBack(sql, task, back)))
    throw error
  }
}

/** Begins to send a task. What goes wrong with it on our side is a failure of this task alone. */
async function sendTask(sender: Sender, task: LeasedTask, { url, secret }: Addressee) {
  const { run, sending } = sender
  const fail = (error: unknown): Pushed => {
    run.log.error(
      { err: error, org_id: run.orgId, task_id: task.id },
      'a task could not be replayed',
    )
    return { kind: 'failed', fault: 'internal_error' }
  }
  let input
  try {
    input = (await readTaskInputs(run.sql, run.orgId, [task])).get(task.id)
  } catch (error) {
    // The task is given back, and this is no fault of it.
    if (isConnectionLost(error)) throw error
    return settle(sender, task, fail(error))
  }
  if (!input) return void (await skipTask(run.sql, task, lackOf(input)))
  const pushed = { task, input, secret, sentAt: run.now() }
  sending.start(async (signal) => {
    const came = await pushTask(run, pushed, { url, signal }).catch(fail)
    await sender.alone(() => settle(sender, task, came))
  })
}

/** Gives back what waits again, and notes what that means for the next look, which comes after it. */
async function settle(sender: Sender, task: LeasedTask, came: Pushed) {
  const { run, state, limits } = sender
  learn(state, await giveBackTask(run, task, came), run.now(), limits.backoffSeconds)
  noteNews(state, run.now())
}

async function giveBackTask({ sql, signal }: Run, task: LeasedTask, came: Pushed): Promise<Pushed> {
  const back = (counted: boolean, reason: string) =>
    persistently(signal, () => giveBack(sql, task, { counted, reason }), isConnectionLost)
  switch (came.kind) {
    case 'later':
      await back(false, came.kind)
      return came
    case 'over_quota':
      await back(true, 'quota_exceeded')
      return came
    case 'failed': {
      const left = await back(true, came.fault)
      // A runner that has submitted the task itself meanwhile did not fail, whatever it answered.
      return left ? came : { kind: 'taken' }
    }
    // The runner may have it: it keeps its lease, as if the worker had been killed.
    case 'aborted':
    case 'submitted':
    case 'taken':
    case 'declined':
      return came
  }
}

/** Whom tasks are sent to. */
interface Addressee {
  readonly url: string
  /** Sealed; null to send unsigned. */
  readonly secret: Buffer | null
}
