import type { AttemptOutcome } from './give-up.ts'

/** Hears what a worker process does, to be counted. */
export interface Meter {
  /** A run ended; it had waited in the queue and then run this long. */
  jobRan(queue: string, outcome: AttemptOutcome, waitSeconds: number, runSeconds: number): void
  /** A run was told to stop because its claim was gone. */
  claimLost(queue: string): void
  /** A worker looked for jobs because it was notified, or because it was time to. */
  lookedForJobs(queue: string, way: 'notified' | 'polled'): void
  /** An attempt at a webhook delivery ended; `error` is null when it was delivered. */
  webhookAttempted(event: string, error: string | null, seconds: number): void
}

/** Counts nothing. */
export const silentMeter: Meter = {
  jobRan: () => undefined,
  claimLost: () => undefined,
  lookedForJobs: () => undefined,
  webhookAttempted: () => undefined,
}
