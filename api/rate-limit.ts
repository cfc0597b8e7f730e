import type { Request } from '@hapi/hapi'
import { takeToken } from '../jobs/rules/access/token-bucket.ts'
import type { Rate } from '../jobs/rules/org/plan.ts'
import { addressOf } from './client-address.ts'
import type { AddressRange } from './client-address.ts'
import { ApiError } from './errors.ts'

/** The state of a bucket after a request; the answer's headers report it. */
export interface RateState {
  readonly perMinute: number
  /** Requests that would pass now. */
  readonly remaining: number
  /** Until the whole burst passes again. */
  readonly fullSeconds: number
  /** Until one request passes again; 0 when this one did. */
  readonly waitSeconds: number
}

/** Buckets by client address, which this process does not share with others. */
export interface AddressLimiter {
  take(address: string): RateState
}

/** @param now milliseconds of a clock that never goes back */
export function openAddressLimiter(rate: Rate, now = () => performance.now()): AddressLimiter {
  const fullAt = new Map<string, number>()
  return {
    take(address) {
      const nowMs = now()
      const taken = takeToken(rate, fullAt.get(address) ?? 0, nowMs)
      // Deleted first, so that the map is in order of use and its first entry the longest unused.
      fullAt.delete(address)
      fullAt.set(address, taken.fullAtMs)
      if (fullAt.size > MAX_ADDRESSES) dropFirst(fullAt)
      return {
        perMinute: rate.perMinute,
        remaining: taken.remaining,
        fullSeconds: Math.max(0, taken.fullAtMs - nowMs) / 1000,
        waitSeconds: taken.waitMs / 1000,
      }
    },
  }
}

/**
 * Remembers which credentials were refused, and until when, so that a client that keeps asking costs
 * the database nothing.
 */
export interface Refusals {
  find(id: string): RateState | undefined
  add(id: string, state: RateState): void
}

/** @param now milliseconds of a clock that never goes back */
export function openRefusals(now = () => performance.now()): Refusals {
  const refused = new Map<string, { state: RateState; atMs: number }>()
  return {
    find(id) {
      const found = refused.get(id)
      if (!found) return undefined
      const passed = (now() - found.atMs) / 1000
      const { state } = found
      if (passed >= state.waitSeconds) {
        refused.delete(id)
        return undefined
      }
      return {
        ...state,
        fullSeconds: state.fullSeconds - passed,
        waitSeconds: state.waitSeconds - passed,
      }
    },
    add(id, state) {
      refused.set(id, { state, atMs: now() })
      if (refused.size > MAX_REFUSALS) dropFirst(refused)
    },
  }
}

/** Keeps the state of a request's bucket for the answer. @throws ApiError 429 when the bucket is empty */
export function admit(request: Request, state: RateState): void {
  request.app.rate = state
  if (state.waitSeconds > 0) throw tooManyRequests(state.waitSeconds)
}

/** Counts a request against the limit of its address. @throws ApiError 429 when that is used up */
export function admitAddress(request: Request): void {
  const { addresses, trustedProxies } = request.server.app
  admit(request, addresses.take(addressOf(request, trustedProxies)))
}

/** The `RateLimit` headers of an answer; none for a request outside every limit. */
export function rateHeaders(request: Request): Record<string, string> {
  const { rate } = request.app
  if (!rate) return {}
  return {
    'RateLimit-Limit': String(rate.perMinute),
    'RateLimit-Remaining': String(rate.remaining),
    'RateLimit-Reset': String(Math.ceil(rate.fullSeconds)),
  }
}

function tooManyRequests(waitSeconds: number) {
  const seconds = Math.max(1, Math.ceil(waitSeconds))
  return limitReached('rate_limit', seconds, 'rate_limited', 'Rate limit exceeded')
}

/**
 * 429 for a limit that is not a month's quota.
 * @param limit names the limit
 * @param seconds after which another try may pass
 */
export function limitReached(
  limit: string,
  seconds: number,
  code: string,
  detail: string,
  headers: Record<string, string> = {},
) {
  return new ApiError(429, code, detail, {
    headers: { 'Retry-After': String(seconds), 'X-Quota-Exceeded': limit, ...headers },
    members: { resets_in_seconds: seconds },
  })
}

function dropFirst(entries: Map<string, unknown>) {
  for (const [first] of entries) return entries.delete(first)
}

/** About 10 MB. */
const MAX_ADDRESSES = 100_000
const MAX_REFUSALS = 100_000

declare module '@hapi/hapi' {
  interface ServerApplicationState {
    addresses: AddressLimiter
    /** Proxies whose `X-Forwarded-For` is believed. */
    trustedProxies: readonly AddressRange[]
  }
  interface RequestApplicationState {
    /** Undefined for a request outside every limit. */
    rate?: RateState
  }
}
