import type Joi from 'joi'
import type { Queue } from 'pg-boss'

/** One kind of background work: its queue, the payload it carries, and how its queue behaves. */
export interface Job<T extends object = object, C extends object = object> extends JobShapes<T, C> {
  /** Queue name, `area.verb`; its dead letters go to `<name>.dlq`. */
  readonly name: string
  readonly queue: JobQueueOptions
}

/** Whatever does not have its shape when it is written or read fails the job. */
export interface JobShapes<T extends object, C extends object> {
  readonly payload: Joi.ObjectSchema<T>
  /**
   * What a run leaves for the next one. It is stored as JSON, so its shape must accept what JSON makes
   * of the values it gives: `time()` gives a `Date` and accepts the text of one. A job without it
   * starts anew in each run.
   */
  readonly checkpoint?: Joi.ObjectSchema<C>
}

export interface JobQueueOptions {
  /** `exclusive`: one queued or running job a key. `short`: one queued job a key. */
  readonly policy?: 'standard' | 'short' | 'exclusive'
  /** Attempts after the first one. */
  readonly retryLimit: number
  /** Wait before the first retry; doubled for each further one up to `retryDelayMaxSeconds`. */
  readonly retryDelaySeconds: number
  readonly retryDelayMaxSeconds: number
  /** A claim older than this is taken away and retried. */
  readonly expireInSeconds: number
  /** A claim whose worker was not heard of for this long is taken away and retried. At least 10. */
  readonly heartbeatSeconds: number
}

/** The payload type of a declared job. */
export type Payload<J> = J extends Job<infer T> ? T : never

/** The checkpoint type of a declared job. */
export type Checkpoint<J> = J extends Job<infer _, infer C> ? C : never

/** What a job that declares no checkpoint can store: no members. */
export type NoCheckpoint = Record<string, never>

/** Declares a job; every job is listed in `jobs/index.ts`. */
export function job<T extends object, C extends object = NoCheckpoint>(
  name: string,
  shapes: JobShapes<T, C>,
  queue: JobQueueOptions,
): Job<T, C> {
  return { name, ...shapes, queue }
}

/** The pg-boss options of a job's queue. */
export function queueOptions({ name, queue }: Job): Queue {
  return {
    name,
    ...(queue.policy && { policy: queue.policy }),
    retryLimit: queue.retryLimit,
    retryDelay: queue.retryDelaySeconds,
    retryBackoff: true,
    retryDelayMax: queue.retryDelayMaxSeconds,
    expireInSeconds: queue.expireInSeconds,
    heartbeatSeconds: queue.heartbeatSeconds,
    retentionSeconds: RETENTION_SECONDS,
    deleteAfterSeconds: DELETE_AFTER_SECONDS,
    deadLetter: deadLetterName(name),
  }
}

export function deadLetterName(name: string) {
  return `${name}.dlq`
}

/** A queued job that nobody took for this long is given up. */
const RETENTION_SECONDS = 30 * 86_400
/** Finished queue rows; what users see of a job lives in our own `jobs` table. */
const DELETE_AFTER_SECONDS = 2 * 86_400
