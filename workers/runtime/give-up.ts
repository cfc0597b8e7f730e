/** Thrown by a handler whose job cannot succeed now: it fails at once, without a retry. */
export class GiveUp extends Error {
  readonly code: string
  readonly details: object | undefined
  readonly retryable: boolean

  /**
   * @param code a word for programs, `snake_case`
   * @param message a sentence for people
   * @param options `retryable` (default false) where something may change so that a client's retry
   * succeeds
   */
  constructor(
    code: string,
    message: string,
    { details, retryable = false }: { details?: object; retryable?: boolean } = {},
  ) {
    super(message)
    this.code = code
    this.details = details
    this.retryable = retryable
  }
}

/**
 * Thrown when something outside of the service failed, which may work again later: the job is retried as
 * after any error, and clients are told why.
 */
export class OutsideFault extends Error {
  readonly code: string

  /** @param code a word for programs, `snake_case`; @param message a sentence for people */
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Thrown when a thread that several jobs share has ended: any of them may be the cause. The job runs
 * again, alone in its process.
 */
export class ThreadEnded extends Error {}

/** Thrown when a write finds that another worker holds the job by now; the run ends silently. */
export class ClaimLost extends Error {}
