import { inSteps } from '../jobs/rules/core/in-steps.ts'
import type { Pause } from '../jobs/rules/core/in-steps.ts'

/** Makes a pause for between the parts of long work, in which the event loop goes on. */
export function openTurns(): Pause {
  let since = performance.now()
  async function goOn() {
    await nextTurn()
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

/** Work that waits for its turn, first come, first served. */
const waiting: (() => void)[] = []

/** One turn each time the event loop comes around: of many long works, others wait for no more than one. */
function nextTurn() {
  return new Promise<void>((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(giveTurn)
  })
}

function giveTurn() {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(giveTurn)
}

/** How long work goes on before others have their turn. */
const TURN_MS = 5
