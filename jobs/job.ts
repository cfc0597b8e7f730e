import type Joi from 'joi'
import type { Queue } from 'pg-boss'

/** One kind of background work: its queue, the payload it carries, and how its queue behaves. */
export interface Job<T extends object = object> {
  /** Queue name, `area.verb`; its dead letters go to `<name>.dlq`. */
  readonly name: string
  readonly payload: Joi.ObjectSchema<T>
  readonly queue: JobQueueOptions
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

/** Declares a job; every job is listed in `jobs/index.ts`. */
export function job<T extends object>(
  name: string,
  payload: Joi.ObjectSchema<T>,
  queue: JobQueueOptions,
): Job<T> {
  return { name, payload, queue }
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
