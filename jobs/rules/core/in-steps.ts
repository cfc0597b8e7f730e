/**
 * Lets others have their turn between the steps of long work, when it is time. Undefined while it is not: an
 * await costs more than most steps.
 */
export type Pause = () => Promise<unknown> | undefined

/** Does work that yields often, and pauses between its steps. */
export async function inSteps<Result>(
  work: Iterator<unknown, Result>,
  pause: Pause,
): Promise<Result> {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
    const paused = pause()
    if (paused) await paused
  }
}

/** Does the same work without a pause. */
export function atOnce<Result>(work: Iterator<unknown, Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}
