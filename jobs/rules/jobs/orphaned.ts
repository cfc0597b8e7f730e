import type { OpenJobState } from './job-state.ts'

/** A job resource that is not final, and what has become of its queue row. */
export interface OrphanedJob {
  readonly state: OpenJobState
  /** It waits for its next attempt, its attempts are used up, it ended otherwise, or it is gone. */
  readonly queue_row: 'waiting' | 'failed' | 'ended' | 'gone'
  /** Whether the last claim of the row was taken away because it was too old. */
  readonly timed_out: boolean
  /** Whether the job was given a new queue row already. */
  readonly was_rescued: boolean
}

export type Remedy =
  | { readonly action: 'cancel' }
  /** The queue row waits for its next attempt. */
  | { readonly action: 'requeue'; readonly error: RemedyError }
  /** The job needs a new queue row. */
  | { readonly action: 'rescue' }
  | { readonly action: 'fail'; readonly error: RemedyError }

export interface RemedyError {
  readonly code: 'worker_lost' | 'timed_out' | 'queue_row_lost'
  readonly message: string
  readonly retryable: true
}

/** What is to be done about a job that no worker will settle. */
export function remedyFor(job: OrphanedJob): Remedy {
  if (job.state === 'cancelling') return { action: 'cancel' }
  switch (job.queue_row) {
    case 'waiting':
      return { action: 'requeue', error: lostError(job) }
    case 'failed':
      return { action: 'fail', error: lostError(job) }
    // Rows end without the job only by hand or by a restored backup.
    case 'ended':
    case 'gone':
      return job.was_rescued ? { action: 'fail', error: GONE } : { action: 'rescue' }
  }
}

function lostError({ timed_out }: OrphanedJob): RemedyError {
  return timed_out ? TIMED_OUT : WORKER_LOST
}

const WORKER_LOST: RemedyError = {
  code: 'worker_lost',
  message: 'The worker was not heard of any more',
  retryable: true,
}
const TIMED_OUT: RemedyError = {
  code: 'timed_out',
  message: 'The job took longer than a job of its kind may',
  retryable: true,
}
const GONE: RemedyError = {
  code: 'queue_row_lost',
  message: 'The job has vanished from its queue twice',
  retryable: true,
}
