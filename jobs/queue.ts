import { SpanKind } from '@opentelemetry/api'
import type { PgBoss } from 'pg-boss'
import { currentWork } from './current-work.ts'
import type { Job } from './job.ts'
import { bossDatabase } from './pg-boss.ts'
import type { Executor } from './pg-boss.ts'
import { currentTraceparent, inSpan } from './spans.ts'

/**
 * What a queue row carries: whose it is, the job resource it belongs to (if any), the request that led to
 * it (if any), and the payload. Processes of other releases read and write it at the same time.
 */
export interface Envelope extends RunMarks {
  /** null: the system's own. */
  readonly org_id: string | null
  readonly job_id?: string
  readonly request_id?: string
  /** Where its runs go on in a trace. */
  readonly traceparent?: string
  readonly payload: object
}

/** How runs of a job ended before, where that decides about the next one. */
export interface RunMarks {
  /** Its worker died or went silent: the next one runs it beside nothing else. */
  readonly alone?: boolean
  /** No attempt was left when it was lost: it fails with the run that is alone, whatever ends that. */
  readonly spent?: boolean
  /** The runs in a row that lost their connection to the database. */
  readonly cuts?: number
}

/** A row of a queue whose worker died or went silent. */
export interface LostClaim {
  readonly id: string
  readonly queue: string
  readonly data: Envelope
  readonly key: string | null
  /** Claims so far, without the first, and how many there may be. */
  readonly retryCount: number
  readonly retryLimit: number
}

export interface EnqueueOptions {
  /** null: the job is the system's own. */
  readonly orgId: string | null
  /** The row of `jobs` that clients see; without one the job is internal. */
  readonly jobId?: string
  /** What the queue's policy is exclusive about. */
  readonly key?: string
  /** Higher goes first; default the organization's fair turn, 0 or less. */
  readonly priority?: number
  readonly startAfterSeconds?: number
  /** Attempts after the first one; default those that the job declares. */
  readonly retryLimit?: number
  readonly marks?: RunMarks
  /** Adds the row and returns its id, in a statement that stores more; default the row alone. */
  readonly insert?: (row: NewQueueRow) => Promise<string | undefined>
}

/** A row to be added to a queue. */
export interface NewQueueRow {
  readonly queue: string
  readonly data: Envelope
  readonly key: string | undefined
  /** Default the turn of the organization in `data`, behind what it has waiting; 0 without one. */
  readonly priority: number | undefined
  readonly startAfterSeconds?: number | undefined
  /** Default that of the queue. */
  readonly retryLimit: number | undefined
}

/** Puts jobs into queues. Made once a process by `openQueue`. */
export interface Queue {
  /**
   * Adds a job. In a transaction that `transaction` has begun, workers see it after the commit. Given the pool,
   * it commits by itself and wakes the workers. In any other transaction workers are woken before the commit,
   * and find the job only when they poll next. Returns the queue row's id, or null where the queue's policy
   * already holds one for the key.
   */
  enqueue<T extends object>(
    sql: Executor,
    job: Job<T>,
    payload: T,
    options: EnqueueOptions,
  ): Promise<string | null>
  /**
   * Puts a job whose claim was lost back into its queue, to be run alone. The lost claim counts as an
   * attempt. Null as with `enqueue`.
   */
  enqueueLost(tx: Executor, lost: LostClaim): Promise<string | null>
  /** Takes a job that waits out of its queue, in the caller's transaction. */
  withdraw(tx: Executor, jobName: string, id: string): Promise<void>
  /** Deletes rows of a queue, whatever their state, in the caller's transaction. */
  remove(tx: Executor, jobName: string, ids: readonly string[]): Promise<void>
  /** Runs `work` in a transaction and, once it has committed, wakes the workers of what it enqueued. */
  transaction<Tx extends Executor, T>(
    sql: { begin(work: (tx: Tx) => Promise<T>): Promise<unknown> },
    work: (tx: Tx) => Promise<T>,
  ): Promise<T>
  /** Tells those who wait for a job resource that it has come to its end. */
  announceEnd(jobId: string): void
}

/**
 * @param notify sends a payload to all processes that listen on a channel; called at most once in
 * 25 ms and channel, because each NOTIFY serialises the commits of the database.
 * @param insert adds a row to a queue, and returns its id unless the queue's policy holds one for the key
 */
export function openQueue(
  boss: PgBoss,
  notify: (channel: string, payload: string) => Promise<unknown>,
  insert: (tx: Executor, row: NewQueueRow) => Promise<string | undefined>,
): Queue {
  const wake = throttle((queues) => notify(WAKE_CHANNEL, queues))
  const announce = throttle((ids) => notify(END_CHANNEL, ids))
  const transactions = new WeakMap<object, Set<string>>()

  async function add(tx: Executor, row: NewQueueRow, by = (each: NewQueueRow) => insert(tx, each)) {
    const id = await by(row)
    const enqueued = transactions.get(tx)
    if (enqueued) enqueued.add(row.queue)
    else wake([row.queue])
    return id ?? null
  }

  return {
    enqueue: (tx, job, payload, options) =>
      inSpan(`send ${job.name}`, { kind: SpanKind.PRODUCER, attributes: QUEUEING }, async () => {
        const { error, value } = job.payload.validate(payload)
        if (error) throw new TypeError(`Payload of ${job.name}: ${error.message}`)
        const { key, priority, startAfterSeconds, retryLimit } = options
        const data = wrap(value, options)
        const row = { queue: job.name, data, key, priority, startAfterSeconds, retryLimit }
        return add(tx, row, options.insert)
      }),
    async enqueueLost(tx, { queue, data, key, retryCount, retryLimit }) {
      const left = retryLimit - retryCount
      return add(tx, {
        queue,
        data: { ...data, alone: true, ...(left === 0 && { spent: true }) },
        priority: RELEASED_PRIORITY,
        retryLimit: Math.max(0, left - 1),
        key: key ?? undefined,
      })
    },
    async withdraw(tx, jobName, id) {
      await boss.cancel(jobName, id, { db: bossDatabase(tx) })
    },
    async remove(tx, jobName, ids) {
      await boss.deleteJob(jobName, [...ids], { db: bossDatabase(tx) })
    },
    async transaction<Tx extends Executor, T>(
      sql: { begin(work: (tx: Tx) => Promise<T>): Promise<unknown> },
      work: (tx: Tx) => Promise<T>,
    ) {
      const enqueued = new Set<string>()
      const result = await sql.begin((tx) => {
        transactions.set(tx, enqueued)
        return work(tx)
      })
      wake(enqueued)
      return result as T
    },
    announceEnd: (jobId) => announce([jobId]),
  }
}

function wrap(payload: object, { orgId, jobId, marks }: EnqueueOptions): Envelope {
  const { request_id } = currentWork()
  const traceparent = currentTraceparent()
  return {
    org_id: orgId,
    ...(jobId && { job_id: jobId }),
    ...(request_id && { request_id }),
    ...(traceparent && { traceparent }),
    payload,
    ...marks,
  }
}

/** Sends words, joined by commas: the first at once, what gathers later at most once an interval. */
function throttle(send: (words: string) => Promise<unknown>) {
  const gathered = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  function flush() {
    timer = undefined
    // 36 characters a job id: well below the 8,000 bytes a NOTIFY payload may have.
    const words = [...gathered].slice(0, WORDS_A_NOTIFY)
    if (words.length === 0) return
    for (const word of words) gathered.delete(word)
    // A notification that is lost costs the listener its polling interval, nothing else.
    send(words.join(',')).catch(() => undefined)
    timer = setTimeout(flush, NOTIFY_INTERVAL_MS)
    timer.unref()
  }
  return (words: Iterable<string>) => {
    for (const word of words) gathered.add(word)
    if (!timer) flush()
  }
}

/** Waiting jobs have priorities of 0 and less, so an interrupted job goes on before them. */
export const RELEASED_PRIORITY = 100
const QUEUEING = { 'messaging.system': 'pg-boss' }
const NOTIFY_INTERVAL_MS = 25
const WORDS_A_NOTIFY = 200
/** NOTIFY channel whose payload names queues that have work, separated by commas. */
export const WAKE_CHANNEL = 'queue_wake'
/** NOTIFY channel whose payload is the id of a job that somebody asked to cancel. */
export const CANCEL_CHANNEL = 'job_cancel'
/** NOTIFY channel that says that a queue was paused or resumed. */
export const CONTROL_CHANNEL = 'queue_control'
/** NOTIFY channel whose payload names jobs that have come to their end, separated by commas. */
export const END_CHANNEL = 'job_end'
