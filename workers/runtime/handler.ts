import type { Job } from '../../jobs/job.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { Progress } from '../../sql/jobs/jobs.ts'
import type { WorkerContext } from './context.ts'

/** What a handler has for one run of one job. */
export interface Run extends WorkerContext {
  readonly orgId: string
  /** The job resource; undefined for an internal job, which has none. */
  readonly jobId: string | undefined
  /** How often this job was claimed, this time included. */
  readonly attempt: number
  /**
   * Aborted with a `StopReason` when the job is canceled, the pool is stopping or the claim was lost.
   * A handler then stops at its next safe point by letting the reason throw (`signal.throwIfAborted`).
   */
  readonly signal: AbortSignal
  /**
   * Stores progress in the handler's own transaction.
   * @throws ClaimLost, which rolls the transaction back, when another worker holds the job by now.
   */
  checkpoint(tx: Transaction, progress: Progress): Promise<void>
  /** Stores progress only; written at most once a second, the last one wins. */
  progress(progress: Progress): void
}

/** A run of a job, with the checkpoint whose shape the job declares. */
export interface ResumableRun<C extends object> extends Run {
  /** What the last run stored, undefined at the first one. */
  readonly checkpointed: C | undefined
  /**
   * Stores progress and, when given, where to go on from, in the handler's own transaction.
   * @throws ClaimLost, which rolls the transaction back, when another worker holds the job by now.
   * @throws GiveUp when the checkpoint does not have its declared shape.
   */
  checkpoint(tx: Transaction, progress: Progress, checkpoint?: C): Promise<void>
}

/** Ends a run that is not done: the job goes on from its checkpoint in another run, behind others. */
export const CONTINUE = Symbol('continue')

/**
 * Ends a run that has to wait: as CONTINUE, but the next run begins no earlier than after these seconds, 1
 * to `MAX_WAIT_SECONDS`. Until then the job holds no slot and can be canceled.
 * @throws RangeError outside these bounds
 */
export function continueAfter(seconds: number): Waiting {
  if (!(seconds >= 1 && seconds <= MAX_WAIT_SECONDS)) {
    throw new RangeError(`A job waits 1 to ${MAX_WAIT_SECONDS} seconds, not ${seconds}`)
  }
  return new Waiting(seconds)
}

/** What `continueAfter` returns. */
export class Waiting {
  readonly seconds: number

  constructor(seconds: number) {
    this.seconds = seconds
  }
}

/** A job that waits for longer looks again in between. */
export const MAX_WAIT_SECONDS = 3600

/** What a handler returns: the job's result, CONTINUE, or what `continueAfter` returns. */
export type Outcome = object | typeof CONTINUE | Waiting | void

export interface Handler<T extends object = object, C extends object = object> {
  readonly job: Job<T, C>
  readonly work: (payload: T, run: ResumableRun<C>) => Promise<Outcome>
  readonly transactional: false
}

export interface TransactionalHandler<T extends object = object> {
  readonly job: Job<T>
  readonly work: (payload: T, run: Run, tx: Transaction) => Promise<object | void>
  readonly transactional: true
}

// Payload and checkpoint differ from handler to handler; each run checks both by the job's shapes.
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyHandler = Handler<any, any> | TransactionalHandler<any>

/** Ties a declared job to the function that does it; payload and checkpoint have the job's types. */
export function handler<T extends object, C extends object>(
  job: Job<T, C>,
  work: Handler<T, C>['work'],
): Handler<T, C> {
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
