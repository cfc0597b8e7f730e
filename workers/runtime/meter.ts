import type { AttemptOutcome } from './outcome.ts'

/** Counts what a worker process does. */
export interface Meter {
  /** A run ended. The job had waited this long in the queue before it. */
  jobRan(queue: string, outcome: AttemptOutcome, waitSeconds: number, runSeconds: number): void
  /** A run was aborted because it had lost its claim. */
  claimLost(queue: string): void
  /** A trace ended the thread that examines traces, alone too. */
  traceGivenUp(): void
  /** A worker looked for jobs after a notification or after its polling interval. */
  lookedForJobs(queue: string, way: 'notified' | 'polled'): void
  /** An attempt at a webhook delivery ended; `error` is null when it was delivered. */
  webhookAttempted(event: string, error: string | null, seconds: number): void
  /** A task of a replay was sent to its runner, and this came of it. */
  replayPushed(outcome: string, seconds: number): void
  /** A stored file that nothing needed was deleted. */
  storedBytesSwept(kind: 'part' | 'upload' | 'dataset', bytes: number): void
}

/** Counts nothing. */
export const silentMeter: Meter = {
  jobRan: () => undefined,
  claimLost: () => undefined,
  traceGivenUp: () => undefined,
  lookedForJobs: () => undefined,
  webhookAttempted: () => undefined,
  replayPushed: () => undefined,
  storedBytesSwept: () => undefined,
}
