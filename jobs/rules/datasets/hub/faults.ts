import { quoteForeign } from '../../core/quote-foreign.ts'

/**
 * What was asked: a hub whether it has a revision, a storage that it named, or a hub for something else.
 * Storages are given addresses that expire, so that their 403 says nothing of the token.
 */
export type Asked = 'revision' | 'storage' | 'hub'

/** An answer of a hub, or of a storage it named, that is not a 2xx. */
export interface HubRefusal {
  readonly status: number
  /** What it said, as far as it is text; may be empty. */
  readonly sentence: string
  /** As its Retry-After says; null without one. */
  readonly retryAfterSeconds: number | null
  readonly asked: Asked
}

/** What a refused push does next. */
export type HubAdvice =
  | { readonly kind: 'give_up'; readonly code: string; readonly message: string }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'retry'; readonly code: string; readonly message: string }

/**
 * @param token taken out of what the hub says, which may repeat what it was sent
 * @param waitedSeconds since the push was requested; a hub is not waited for longer than a day
 */
export function adviseOn(refusal: HubRefusal, token: string, waitedSeconds: number): HubAdvice {
  const { status, asked } = refusal
  const message = describe(refusal, token)
  if (status === 429 && waitedSeconds < MAX_WAITED_SECONDS) {
    return { kind: 'wait', seconds: waitOf(refusal.retryAfterSeconds) }
  }
  if (status === 429 || status >= 500 || TRANSIENT.has(status) || asked === 'storage') {
    return { kind: 'retry', code: 'hub_unavailable', message }
  }
  if (status === 401 || status === 403) return { kind: 'give_up', code: 'hub_refused', message }
  const code = status === 404 && asked === 'revision' ? 'hub_no_revision' : 'hub_rejected'
  return { kind: 'give_up', code, message }
}

/** Somebody else committed since the head was read. */
export function isConflict({ status, asked }: HubRefusal): boolean {
  return asked !== 'storage' && (status === 409 || status === 412)
}

function describe({ status, sentence, asked }: HubRefusal, token: string) {
  const answered = `The ${asked === 'storage' ? 'storage of the hub' : 'hub'} answered ${status}`
  const said = quoteForeign(sentence, { secrets: [token], word: 'token', most: MAX_SENTENCE })
  return said ? `${answered}: ${said}` : answered
}

function waitOf(seconds: number | null) {
  return Math.min(Math.max(seconds ?? USUAL_WAIT_SECONDS, 1), MAX_WAIT_SECONDS)
}

/** Timeout, conflict, head moved, too early: another try may succeed. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 409, 412, 425])
const USUAL_WAIT_SECONDS = 30
const MAX_WAIT_SECONDS = 600
const MAX_WAITED_SECONDS = 86_400
/** Characters of what a hub said. */
const MAX_SENTENCE = 500
