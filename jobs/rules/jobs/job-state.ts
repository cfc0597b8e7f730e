/** States of the job resource in which something is still to be done. */
export const OPEN_JOB_STATES = ['queued', 'running', 'cancelling'] as const
export type OpenJobState = (typeof OPEN_JOB_STATES)[number]

export const JOB_STATES = [...OPEN_JOB_STATES, 'succeeded', 'failed', 'canceled'] as const
export type JobState = (typeof JOB_STATES)[number]

/** The state as the status of what a job works on, which runs until it is canceled. */
export function statusOfWork(state: JobState) {
  return state === 'cancelling' ? 'running' : state
}

/** How an attempt at a job ended. */
export const JOB_ATTEMPT_OUTCOMES = [
  'succeeded',
  'failed',
  'canceled',
  'released',
  'continued',
  'lost',
] as const
export type JobAttemptOutcome = (typeof JOB_ATTEMPT_OUTCOMES)[number]

/** How long a finished job can be read. */
export const JOB_KEPT_DAYS = 30
