import { SpanKind } from '@opentelemetry/api'
import type { PgBoss, SendOptions as BossSendOptions } from 'pg-boss'
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
}

/** Puts jobs into queues. Made once a process by `openQueue`. */
export interface Queue {
  /**
   * Adds a job in the caller's transaction: workers see it when that commits, and never if it rolls
   * back. Returns the queue row's id, or null where the queue's policy already holds one for the key.
   */
  enqueue<T extends object>(
    tx: Executor,
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
 * @param findTurn the priority of an organization's next job in a queue
 */
export function openQueue(
  boss: PgBoss,
  notify: (channel: string, payload: string) => Promise<unknown>,
  findTurn: (tx: Executor, queue: string, orgId: string) => Promise<number>,
): Queue {
  const wake = throttle((queues) => notify(WAKE_CHANNEL, queues))
  const announce = throttle((ids) => notify(END_CHANNEL, ids))
  const transactions = new WeakMap<object, Enqueued>()

  /** Asked once a transaction: what it adds itself stands behind what it added before. */
  async function takeTurn(tx: Executor, queue: string, orgId: string) {
    const turns = transactions.get(tx)?.turns
    const key = `${queue} ${orgId}`
    const last = turns?.get(key)
    const turn = last === undefined ? await findTurn(tx, queue, orgId) : last - 1
    turns?.set(key, turn)
    return turn
  }

  async function send(tx: Executor, queue: string, envelope: Envelope, options: SendOptions) {
    const id = await boss.send(queue, envelope, {
      db: bossDatabase(tx),
      ...options,
      ...(envelope.org_id !== null && { group: { id: envelope.org_id } }),
    })
    transactions.get(tx)?.queues.add(queue)
    return id
  }

  return {
    enqueue: (tx, job, payload, options) =>
      inSpan(`send ${job.name}`, { kind: SpanKind.PRODUCER, attributes: QUEUEING }, async () => {
        const { error, value } = job.payload.validate(payload)
        if (error) throw new TypeError(`Payload of ${job.name}: ${error.message}`)
        const { orgId } = options
        const priority =
          options.priority ?? (orgId === null ? 0 : await takeTurn(tx, job.name, orgId))
        return send(tx, job.name, wrap(value, options), {
          priority,
          ...(options.key && { singletonKey: options.key }),
          ...(options.startAfterSeconds && { startAfter: options.startAfterSeconds }),
          ...(options.retryLimit !== undefined && { retryLimit: options.retryLimit }),
        })
      }),
    async enqueueLost(tx, { queue, data, key, retryCount, retryLimit }) {
      const left = retryLimit - retryCount
      const envelope: Envelope = { ...data, alone: true, ...(left === 0 && { spent: true }) }
      return send(tx, queue, envelope, {
        priority: RELEASED_PRIORITY,
        retryLimit: Math.max(0, left - 1),
        ...(key && { singletonKey: key }),
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
      const enqueued: Enqueued = { queues: new Set(), turns: new Map() }
      const result = await sql.begin((tx) => {
        transactions.set(tx, enqueued)
        return work(tx)
      })
      wake(enqueued.queues)
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

type SendOptions = Pick<BossSendOptions, 'priority' | 'retryLimit' | 'singletonKey' | 'startAfter'>

/** What a transaction has put into queues. */
interface Enqueued {
  readonly queues: Set<string>
  /** By queue and organization, the priority of the last job. */
  readonly turns: Map<string, number>
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
