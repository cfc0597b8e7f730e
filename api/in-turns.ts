import { setImmediate } from 'node:timers/promises'
import { inSteps } from '../jobs/rules/core/in-steps.ts'

/** Makes a function to await between parts of long work: it lets the event loop go on now and then. */
export function openTurns(): Pause {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < TURN_MS) return
    await setImmediate()
    since = performance.now()
  }
}

/** Does work that yields often, and lets the event loop go on between its parts. */
export function inTurns<Result>(
  work: Iterator<unknown, Result>,
  pause = openTurns(),
): Promise<Result> {
  return inSteps(work, pause)
}

export type Pause = () => Promise<void>

/** How long work goes on before others have their turn. */
const TURN_MS = 10
