import { NoConnection, openGate } from '../../sql/core/gate.ts'
import type { Leave } from '../../sql/core/gate.ts'
import type { AnswerRoom } from '../outbound/request.ts'

/** The place of one answer in the room. */
export interface AnswerPlace extends AnswerRoom {
  /** Gives it back, and ends a wait for more of it. */
  leave(): void
}

/**
 * The room that the large answers of all runners share in a process. An answer takes of it what has come
 * of it, so that one that is announced and does not come keeps nobody out. Half of the room is the most that
 * those of one organization take together.
 */
export function openAnswerRoom({ bytes, waitMs } = { bytes: 128 << 20, waitMs: 10_000 }) {
  const gate = openGate({ max: bytes, maxEach: bytes / 2, waitMs })
  return {
    openPlace(orgId: string): AnswerPlace {
      const leaving = new AbortController()
      const { signal } = leaving
      const steps: Leave[] = []
      const giveBack = () => steps.splice(0).forEach((leave) => leave())
      return {
        stepBytes: STEP_BYTES,
        async enter() {
          try {
            steps.push(await gate.enter(orgId, { places: PARSED_WEIGHT * STEP_BYTES, signal }))
          } catch (error) {
            if (error instanceof NoConnection) return false
            throw error
          }
          // It may have left in the turn in which it was let in.
          if (signal.aborted) giveBack()
          return !signal.aborted
        },
        leave() {
          leaving.abort()
          giveBack()
        },
      }
    },
    state: gate.state,
  }
}

const STEP_BYTES = 256 << 10
/** Memory of an answer and its values for each byte of it. */
const PARSED_WEIGHT = 3
