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
