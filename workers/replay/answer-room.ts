import { NoConnection, openGate } from '../../sql/core/gate.ts'
import type { Leave } from '../../sql/core/gate.ts'
import type { AnswerRoom } from '../outbound/request.ts'

/** The place of one answer in the room. */
export interface AnswerPlace extends AnswerRoom {
  /** Gives it back, and ends a wait for it. */
  leave(): void
}

/**
 * A place in the room that the large answers of all runners share in this process. Half of the room is the
 * most that those of one organization take together.
 */
export function openPlace(orgId: string): AnswerPlace {
  const leaving = new AbortController()
  const { signal } = leaving
  let leave: Leave | undefined
  return {
    smallBytes: SMALL_BYTES,
    async enter(bytes) {
      try {
        leave = await room.enter(orgId, { places: PARSED_WEIGHT * bytes, signal })
      } catch (error) {
        if (error instanceof NoConnection) return false
        throw error
      }
      // It may have left in the turn in which it was let in.
      if (signal.aborted) leave()
      return !signal.aborted
    },
    leave() {
      leaving.abort()
      leave?.()
    },
  }
}

const ROOM_BYTES = 128 << 20
const WAIT_MS = 10_000
const room = openGate({ max: ROOM_BYTES, maxEach: ROOM_BYTES / 2, waitMs: WAIT_MS })
const SMALL_BYTES = 256 << 10
/** Memory of an answer and its values for each byte of it. */
const PARSED_WEIGHT = 3
