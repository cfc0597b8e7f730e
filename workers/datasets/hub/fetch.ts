import { readRetryAfter } from '../../../jobs/rules/core/retry-header.ts'
import { isOfHub } from '../../../jobs/rules/datasets/hub/address.ts'
import type { Asked, HubRefusal } from '../../../jobs/rules/datasets/hub/faults.ts'
import { guardedFetch } from '../../outbound/guarded-fetch.ts'
import type { GuardedInit } from '../../outbound/guarded-fetch.ts'
import type { OutboundSettings } from '../../runtime/context.ts'

export interface HubAccess {
  readonly outbound: Pick<OutboundSettings, 'agents' | 'hub'>
  readonly token: string
  /** Ends every request. */
  readonly signal: AbortSignal
  readonly now: () => Date
}

/** The hub, or a storage it named, answered with something else than a 2xx. */
export class HubRefused extends Error {
  readonly refusal: HubRefusal

  constructor(refusal: HubRefusal) {
    super(`The hub answered ${refusal.status}`)
    this.refusal = refusal
  }
}

/** What a request to the hub's API has in place of the token. */
export const TOKEN_PLACEHOLDER = 'hf_'

/**
 * A `fetch` for the hub and the addresses that it names for uploads. The hub's own are the operator's;
 * others are reached as addresses of clients are. The token is put into requests to the hub that have
 * `Authorization: Bearer hf_`.
 * @throws HubRefused for every answer that is not a 2xx; NoAnswer
 */
export function openHubFetch({ outbound, token, signal, now }: HubAccess) {
  const { hub, agents } = outbound
  const send = guardedFetch({
    agentsFor: (url) => (isOfHub(hub.url, url) ? hub.agents : agents),
    signal,
    idleMs: IDLE_MS,
    maxBytes: MAX_ANSWER_BYTES,
  })
  return async (target: string, init: GuardedInit = {}): Promise<Response> => {
    const { Authorization: placeholder, ...headers } = init.headers ?? {}
    const isOfHub = placeholder !== undefined && target.startsWith(`${hub.url}/`)
    const authorization = { authorization: `Bearer ${token}` }
    const response = await send(target, {
      ...init,
      headers: { ...headers, ...(isOfHub && authorization) },
    })
    if (response.ok) return response
    throw await readRefusal(response, isOfHub ? 'hub' : 'storage', now())
  }
}

export type HubFetch = ReturnType<typeof openHubFetch>

async function readRefusal(response: Response, asked: Asked, now: Date) {
  return new HubRefused({
    status: response.status,
    sentence: await readSentence(response),
    retryAfterSeconds: readRetryAfter(response.headers.get('retry-after'), now),
    asked,
  })
}

/** What an answer of the hub says went wrong; empty where it is not JSON. */
async function readSentence(response: Response) {
  const { error, message } = Object(await response.json().catch(() => undefined)) as Sentences
  const sentence = error ?? message
  return typeof sentence === 'string' ? sentence : ''
}

const IDLE_MS = 60_000
/** Upload addresses of 100 files of many parts are the longest. */
const MAX_ANSWER_BYTES = 16 << 20

interface Sentences {
  readonly error?: unknown
  readonly message?: unknown
}
