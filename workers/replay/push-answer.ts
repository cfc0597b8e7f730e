import { findStatusFault } from '../outbound/request.ts'
import type { OutboundAnswer, OutboundFault, OutboundOutcome } from '../outbound/request.ts'

/** What a runner's answer means for the task that was sent. */
export type PushAnswer =
  /** The runner has it, and submits its result itself. */
  | { readonly kind: 'taken' }
  /** Its result. */
  | { readonly kind: 'result'; readonly body: Buffer }
  | { readonly kind: 'declined' }
  /** Nothing is to be sent for so long. */
  | { readonly kind: 'later'; readonly seconds: number }
  /** The request was ended by ourselves: the runner may have the task. */
  | { readonly kind: 'aborted' }
  | { readonly kind: 'failed'; readonly fault: PushFault }

export type PushFault =
  | OutboundFault
  | 'redirect'
  | 'http_status'
  | 'unexpected_status'
  | 'invalid_result'
  | 'refused_result'
  /** Ours: the task could not be read, or its result not be stored. */
  | 'internal_error'

export function readPushAnswer(outcome: OutboundOutcome, now: Date): PushAnswer {
  if (outcome.fault === 'aborted') return { kind: 'aborted' }
  if (outcome.fault !== null) return { kind: 'failed', fault: outcome.fault }
  switch (outcome.status) {
    case 202:
      return { kind: 'taken' }
    case 200:
      return readResult(outcome)
    case 409:
    case 410:
      return { kind: 'declined' }
    case 429:
    case 503:
      return { kind: 'later', seconds: readRetryAfter(outcome.headers['retry-after'], now) }
    default:
      return { kind: 'failed', fault: findStatusFault(outcome.status) ?? 'unexpected_status' }
  }
}

function readResult({ body, cut }: OutboundAnswer): PushAnswer {
  if (cut === null) return { kind: 'result', body }
  if (cut === 'aborted') return { kind: 'aborted' }
  return { kind: 'failed', fault: cut }
}

/** Seconds, or a time (RFC 9110, 10.2.3); what is neither counts as none. */
function readRetryAfter(header: string | undefined, now: Date) {
  const seconds = secondsOf(header?.trim() ?? '', now)
  if (Number.isNaN(seconds)) return DEFAULT_RETRY_SECONDS
  return Math.min(Math.max(Math.ceil(seconds), 1), MAX_RETRY_SECONDS)
}

function secondsOf(text: string, now: Date) {
  if (/^\d+$/.test(text)) return Number(text)
  // Date.parse takes almost anything for a time.
  return text.endsWith(' GMT') ? (Date.parse(text) - now.getTime()) / 1000 : NaN
}

/** A runner that says nothing is asked again after this time, */
const DEFAULT_RETRY_SECONDS = 30
/** and one that says more, after this. */
const MAX_RETRY_SECONDS = 3600
