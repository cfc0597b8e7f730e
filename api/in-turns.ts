import { setImmediate } from 'node:timers/promises'
import { inSteps } from '../jobs/rules/core/in-steps.ts'
import type { Pause } from '../jobs/rules/core/in-steps.ts'

/** Makes a pause for between the parts of long work, in which the event loop goes on. */
export function openTurns(): Pause {
  let since = performance.now()
  async function goOn() {
    await setImmediate()
    since = performance.now()
  }
  return () => (performance.now() - since < TURN_MS ? undefined : goOn())
}

/** Does work that yields often, and lets the event loop go on between its parts. */
export function inTurns<Result>(
  work: Iterator<unknown, Result>,
  pause = openTurns(),
): Promise<Result> {
  return inSteps(work, pause)
}

/** How long work goes on before others have their turn. */
const TURN_MS = 10
