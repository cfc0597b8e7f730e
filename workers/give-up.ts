/** Thrown by a handler whose job can never succeed: it fails at once, without a retry. */
export class GiveUp extends Error {
  readonly code: string
  readonly details: object | undefined

  /** @param code a word for programs, `snake_case`; @param message a sentence for people. */
  constructor(code: string, message: string, details?: object) {
    super(message)
    this.code = code
    this.details = details
  }
}

/** Thrown when a write finds that another worker holds the job by now; the run ends silently. */
export class ClaimLost extends Error {}

/** What came of a run. */
export type AttemptOutcome =
  'done' | 'continued' | 'released' | 'cancelled' | 'gave_up' | 'failed' | 'retried' | 'dropped'

/** Why a run was told to stop: `signal.reason` of a handler's signal. */
export type StopReason = 'cancelled' | 'draining' | 'claim_lost'
