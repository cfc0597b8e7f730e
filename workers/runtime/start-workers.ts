import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { PgBoss } from 'pg-boss'
import { CANCEL_CHANNEL, CONTROL_CHANNEL, WAKE_CHANNEL } from '../../jobs/queue.ts'
import { listCancelRequested } from '../../sql/jobs/job-claims.ts'
import { listOrgLimits, listPausedQueues } from '../../sql/jobs/queue-control.ts'
import type { WorkerContext } from './context.ts'
import type { AnyHandler } from './handler.ts'
import { startQueueWorker } from './queue-worker.ts'
import type { QueueControl, QueueStatus, QueueWorker } from './queue-worker.ts'
import type { Overrun } from './slots.ts'
import { openSolitude } from './solitude.ts'

export interface RunningWorkers {
  /** Jobs running in this process now. */
  running(): number
  queues(): readonly QueueStatus[]
  /** Runs that go on after they were aborted; only the end of the process ends them. */
  overruns(): readonly Overrun[]
  /**
   * Aborts every run and waits up to `graceMs` for the handlers to reach a safe point. Jobs that
   * stopped by then are queued again and lose no attempt. Returns how many did not stop.
   */
  stop(graceMs: number): Promise<number>
}

/** Starts working off the queues of the given handlers in this process. */
export async function startWorkers(
  context: WorkerContext,
  boss: PgBoss,
  handlers: readonly { handler: AnyHandler; concurrency: number }[],
): Promise<RunningWorkers> {
  const worker = `${hostname()}:${process.pid}`
  const controlOf = await readControls(context)
  const solitude = openSolitude()
  const workers = handlers.map(({ handler, concurrency: slots }) =>
    startQueueWorker(context, boss, handler, {
      slots,
      worker,
      solitude,
      control: controlOf(handler.job.name),
    }),
  )
  const lookForControls = openControls(context, workers)
  await listen(context, workers, lookForControls)
  const ticking = setInterval(() => {
    for (const look of [beat, lookForControls, lookForCancels]) {
      look(context, workers).catch((err: unknown) => {
        context.log.warn({ err }, `${look.name} failed`)
      })
    }
  }, TICK_MS)
  const queues = () => workers.map((worker) => worker.status())
  const running = () =>
    queues().reduce((sum, { running, overruns }) => sum + running + overruns.length, 0)

  return {
    running,
    queues,
    overruns: () => queues().flatMap(({ overruns }) => overruns),
    async stop(graceMs) {
      const drained = Promise.all(workers.map((worker) => worker.drain()))
      await Promise.race([drained, pause(graceMs, undefined, { ref: false })])
      clearInterval(ticking)
      return running()
    },
  }
}

async function listen(
  context: WorkerContext,
  workers: readonly QueueWorker[],
  lookForControls: () => Promise<void>,
) {
  const { listener } = context
  const byQueue = new Map(workers.map((worker) => [worker.queue, worker]))
  await listener.listen(
    WAKE_CHANNEL,
    (queues) => queues.split(',').forEach((queue) => byQueue.get(queue)?.wake()),
    // After the connection was lost: notifications may have been missed.
    () => workers.forEach((worker) => worker.wake()),
  )
  await listener.listen(CANCEL_CHANNEL, (id) => workers.forEach((worker) => worker.cancel(id)))
  await listener.listen(CONTROL_CHANNEL, () => {
    lookForControls().catch(() => undefined)
  })
}

async function beat(_: WorkerContext, workers: readonly QueueWorker[]) {
  await Promise.all(workers.map((worker) => worker.heartbeat()))
}

/** Looks may overtake each other: what an older one saw does not replace what a newer one did. */
function openControls(context: WorkerContext, workers: readonly QueueWorker[]) {
  let begun = 0
  let newest = 0
  return async function lookForControls() {
    const look = ++begun
    const controlOf = await readControls(context)
    if (look < newest) return
    newest = look
    for (const worker of workers) worker.control(controlOf(worker.queue))
  }
}

async function lookForCancels({ sql }: WorkerContext, workers: readonly QueueWorker[]) {
  const ids = workers.flatMap((worker) => worker.jobIds())
  if (ids.length === 0) return
  for (const id of await listCancelRequested(sql, ids)) {
    for (const worker of workers) worker.cancel(id)
  }
}

async function readControls({ sql }: WorkerContext): Promise<(queue: string) => QueueControl> {
  const [queues, limits] = await Promise.all([listPausedQueues(sql), listOrgLimits(sql)])
  const paused = new Set(queues.map(({ queue }) => queue))
  const limited = Map.groupBy(limits, ({ queue }) => queue)
  return (queue) => ({ paused: paused.has(queue), limits: limited.get(queue) ?? [] })
}

/** Cancels, pauses and limits are looked up this often, in case their notification is lost. */
const TICK_MS = 2000
