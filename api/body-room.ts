import type { Request } from '@hapi/hapi'
import { ApiError } from './errors.ts'

/**
 * Bounds the memory that the bodies of all requests take in a process. A body has its place before it is
 * read and until its request is answered; large ones wait for theirs in the order they came. Small ones
 * take theirs at once, so that large ones which come slowly keep nobody out.
 */
export function openBodyRoom({ bytes, waitMs }: RoomLimits = ROOM) {
  const held = new WeakMap<Request, number>()
  const waiting: Waiting[] = []
  let free = bytes

  function admit() {
    for (let [next] = waiting; next && next.need <= free; [next] = waiting) {
      waiting.shift()
      free -= next.need
      next.resolve()
    }
  }

  function place(need: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const asked = { need, resolve }
    waiting.push(asked)
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(asked), 1)
      reject(noRoom())
      // Those behind it may need less.
      admit()
    }, waitMs)
    admit()
    return promise.finally(() => clearTimeout(timer))
  }

  function hold(request: Request, need: number) {
    free += (held.get(request) ?? 0) - need
    held.set(request, need)
    admit()
  }

  return {
    /** Waits until there is room for a body of at most so many bytes. @throws ApiError 503 */
    async enter(request: Request, bodyBytes: number) {
      const need = Math.min(bytes, weigh(bodyBytes))
      if (bodyBytes > SMALL_BYTES) {
        await place(need)
        held.set(request, need)
      } else hold(request, need)
    },
    /** Gives back what the body, which has this length, does not need. */
    shrink: (request: Request, bodyBytes: number) =>
      hold(request, Math.min(bytes, weigh(bodyBytes))),
    leave: (request: Request) => hold(request, 0),
  }
}
export type BodyRoom = ReturnType<typeof openBodyRoom>

/** What a body takes: its bytes, and what is made of them, of a long list item after item. */
function weigh(bodyBytes: number) {
  return bodyBytes + VALUE_WEIGHT * Math.min(bodyBytes, LARGEST_VALUE_BYTES)
}

const noRoom = () =>
  new ApiError(503, 'unavailable', 'The service is reading too many large requests', {
    headers: { 'Retry-After': '2' },
  })

export interface RoomLimits {
  readonly bytes: number
  /** How long a request waits before it is answered with 503. */
  readonly waitMs: number
}
const ROOM: RoomLimits = { bytes: 192 << 20, waitMs: 10_000 }
const SMALL_BYTES = 256 << 10
/** Memory of parsed values for each byte of their text, as measured with the least favourable ones. */
const VALUE_WEIGHT = 7
const LARGEST_VALUE_BYTES = 5 << 20

interface Waiting {
  readonly need: number
  readonly resolve: () => void
}
