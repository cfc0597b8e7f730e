/** Something outside the program is not as it must be; the message says so in sentences for people. */
export class OperatorError extends Error {}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
