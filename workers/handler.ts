import type { Agent } from 'node:https'
import type { Job } from '../jobs/job.ts'
import type { Queue } from '../jobs/queue.ts'
import type { Quotas } from '../jobs/rules/plan.ts'
import type { Storage } from '../jobs/storage.ts'
import type { Sql, Transaction } from '../sql/db.ts'
import type { Listener } from '../sql/listener.ts'
import type { Progress } from '../sql/jobs.ts'
import type { Meter } from './meter.ts'

/** What every worker process has. */
export interface WorkerContext {
  readonly sql: Sql
  readonly listener: Listener
  readonly queue: Queue
  readonly storage: Storage
  readonly log: Log
  readonly now: () => Date
  readonly quotas: Quotas
  /** Undefined where no mail server is configured. */
  readonly mailer: Mailer | undefined
  /** Folder for files that may vanish when the process ends. */
  readonly scratchDir: string
  readonly outbound: OutboundSettings
  readonly meter: Meter
}

/** How calls to addresses that clients gave are made. */
export interface OutboundSettings {
  /** Reaches public addresses and the allowed networks only. */
  readonly agent: Agent
  /** Seconds before the second attempt, the third, ... */
  readonly retrySchedule: readonly number[]
  /** 32 bytes; what opens the secrets that deliveries are signed with. */
  readonly masterKey: Uint8Array
}

export interface Mailer {
  /** Rejects with the server's answer as `responseCode` when it refuses. */
  send(mail: { id: string; recipient: string; subject: string; body: string }): Promise<void>
}

export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** What a handler has for one run of one job. */
export interface Run extends WorkerContext {
  readonly orgId: string
  /** The job resource; undefined for an internal job, which has none. */
  readonly jobId: string | undefined
  /** How often this job was claimed, this time included. */
  readonly attempt: number
  /** What the last `checkpoint` stored, undefined at the first run. */
  readonly checkpointed: unknown
  /**
   * Aborted with a `StopReason` when the job is cancelled, the pool is stopping or the claim was lost.
   * A handler then stops at its next safe point by letting the reason throw (`signal.throwIfAborted`).
   */
  readonly signal: AbortSignal
  /**
   * Stores progress and, when given, where to go on from, in the handler's own transaction.
   * @throws ClaimLost, which rolls the transaction back, when another worker holds the job by now.
   */
  checkpoint(tx: Transaction, progress: Progress, cursor?: object): Promise<void>
  /** Stores progress only; written at most once a second, the last one wins. */
  progress(progress: Progress): void
}

/** Ends a run that is not done: the job goes on from its checkpoint in another run, behind others. */
export const CONTINUE = Symbol('continue')

/** What a handler returns: the job's result, or CONTINUE. */
export type Outcome = object | typeof CONTINUE | void

export interface Handler<T extends object = object> {
  readonly job: Job<T>
  readonly work: (payload: T, run: Run) => Promise<Outcome>
  readonly transactional: false
}

export interface TransactionalHandler<T extends object = object> {
  readonly job: Job<T>
  readonly work: (payload: T, run: Run, tx: Transaction) => Promise<object | void>
  readonly transactional: true
}

// The payload type differs from handler to handler; the wrapper checks payloads against the job's schema.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyHandler = Handler<any> | TransactionalHandler<any>

/** Ties a declared job to the function that does it; the payload's type follows from the job. */
export function handler<T extends object>(job: Job<T>, work: Handler<T>['work']): Handler<T> {
  return { job, work, transactional: false }
}

/**
 * A handler whose whole effect is in one short transaction, which the wrapper opens and in which it
 * also settles the job: effect and settlement happen together or not at all.
 */
export function transactionalHandler<T extends object>(
  job: Job<T>,
  work: TransactionalHandler<T>['work'],
): TransactionalHandler<T> {
  return { job, work, transactional: true }
}
