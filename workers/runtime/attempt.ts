import type { JobWithMetadata, PgBoss } from 'pg-boss'
import type { Envelope } from '../../jobs/queue.ts'
import type { WorkerContext } from './context.ts'
import type { AnyHandler } from './handler.ts'

/** A row of a queue, as a worker took it. */
export type QueuedJob = JobWithMetadata<Envelope>

/** What a run of a queued job needs. */
export interface Attempt {
  readonly context: WorkerContext
  readonly boss: PgBoss
  readonly handler: AnyHandler
  readonly queued: QueuedJob
  /** Host and process of the worker. */
  readonly worker: string
  /** Aborted with a `StopReason`; the attempt itself aborts it when it finds its claim lost. */
  readonly abort: AbortController
  /** Completes the queue row of an internal job, together with others that end meanwhile. */
  readonly complete: (queued: QueuedJob) => Promise<void>
}

/** Why a run must stop: `signal.reason` of a handler's signal. */
export type StopReason = 'canceled' | 'draining' | 'claim_lost'
