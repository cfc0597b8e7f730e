import type { Request } from '@hapi/hapi'
import { NoConnection, openGate } from '../sql/core/gate.ts'
import type { Leave } from '../sql/core/gate.ts'
import { addressOf } from './client-address.ts'
import { ApiError } from './errors.ts'

/**
 * Bounds the memory that the bodies of all requests take in a process. A large body has its place from
 * when it proves to be large until its request is answered. Half of the room is the most that those of one
 * organization, or of one client address, take together. Small ones take their place at once, when they
 * are there, so that large ones which come slowly keep nobody out.
 */
export function openBodyRoom({ bytes, waitMs }: RoomLimits = ROOM) {
  const gate = openGate({ max: bytes, maxEach: bytes / 2, waitMs })
  const places = new WeakMap<Request, Place>()
  const weigh = (bodyBytes: number, parsedBytes: number | undefined) =>
    Math.min(bytes / 2, weightOf(bodyBytes, parsedBytes))

  function placeOf(request: Request): Place {
    const place = places.get(request) ?? { hasLeft: false }
    places.set(request, place)
    return place
  }

  return {
    /**
     * Waits until there is room for a large body, of at most so many bytes.
     * @param parsedBytes how many of them there are as values at the same time; default LARGEST_VALUE_BYTES
     * @throws ApiError 503
     */
    async grow(request: Request, bodyBytes: number, parsedBytes?: number) {
      const place = placeOf(request)
      place.waiting = new AbortController()
      if (place.hasLeft) place.waiting.abort()
      const options = { places: weigh(bodyBytes, parsedBytes), signal: place.waiting.signal }
      place.leave = await gate.enter(ownerOf(request), options).catch((error: unknown) => {
        throw error instanceof NoConnection ? noRoom(request) : error
      })
      // It may have left in the turn in which it was let in.
      if (place.hasLeft) place.leave()
    },
    /** Keeps what a body needs that is there and has this length. */
    settle(request: Request, bodyBytes: number, parsedBytes?: number) {
      const place = placeOf(request)
      const places = weigh(bodyBytes, parsedBytes)
      if (place.leave) place.leave(places)
      else if (!place.hasLeft) place.leave = gate.pass(places)
    },
    /** Gives back all, and ends a wait. */
    leave(request: Request) {
      const place = placeOf(request)
      place.hasLeft = true
      place.waiting?.abort()
      place.leave?.()
    },
    state: gate.state,
  }
}
export type BodyRoom = ReturnType<typeof openBodyRoom>

/** Whose share a body is of. */
function ownerOf(request: Request) {
  const organization = request.auth.credentials?.user?.principal?.orgId
  return organization ?? addressOf(request, request.server.app.trustedProxies)
}

/** What a body takes: its bytes, and what is made of them, of a long list item after item. */
function weightOf(bodyBytes: number, parsedBytes = LARGEST_VALUE_BYTES) {
  return bodyBytes + VALUE_WEIGHT * Math.min(bodyBytes, parsedBytes)
}

function noRoom(request: Request) {
  request.app.refused = 'body_room'
  return new ApiError(503, 'unavailable', 'The service is reading too many large requests', {
    headers: { 'Retry-After': '2' },
  })
}

export interface RoomLimits {
  readonly bytes: number
  /** How long a request waits before it is answered with 503. */
  readonly waitMs: number
}
const ROOM: RoomLimits = { bytes: 192 << 20, waitMs: 10_000 }
/** Bodies up to this size take little room, and are parsed at once. */
export const SMALL_BYTES = 256 << 10
/** Memory of parsed values for each byte of their text, as measured with the least favourable ones. */
const VALUE_WEIGHT = 7
const LARGEST_VALUE_BYTES = 5 << 20

interface Place {
  hasLeft: boolean
  /** Ends the wait of a large body. Others have none: to abort makes an error with a stack. */
  waiting?: AbortController
  /** Undefined while the body takes none. */
  leave?: Leave
}
