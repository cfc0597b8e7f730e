import type { JobWithMetadata, PgBoss } from 'pg-boss'
import type { Envelope } from '../jobs/queue.ts'
import type { AnyHandler, WorkerContext } from './handler.ts'

/** A row of a queue, as it was taken. */
export type QueuedJob = JobWithMetadata<Envelope>

/** What a run of a queued job needs. */
export interface Attempt {
  readonly context: WorkerContext
  readonly boss: PgBoss
  readonly handler: AnyHandler
  readonly queued: QueuedJob
  /** Host and process that make it. */
  readonly worker: string
  /** Aborted with a `StopReason`; the attempt itself aborts it when it finds its claim lost. */
  readonly abort: AbortController
  /** Completes the queue row of an internal job; may do several at once. */
  readonly complete: (queued: QueuedJob) => Promise<void>
}
