/** An answer of a platform that is not a 2xx. */
export interface PullRefusal {
  readonly status: number
  /** As its Retry-After says; null without one. */
  readonly retryAfterSeconds: number | null
  /** A sentence for people. */
  readonly message: string
}

/** What a refused pull does next. */
export type PullAdvice =
  | { readonly kind: 'give_up'; readonly code: string; readonly message: string }
  | { readonly kind: 'wait'; readonly seconds: number }
  /** Later, as after any fault of the platform. */
  | { readonly kind: 'retry' }
  /** Again with fewer rows: a page is too large for the platform. */
  | { readonly kind: 'less' }
  /** The window begins again, shorter: its cursor has expired, or it is too long for the platform. */
  | { readonly kind: 'restart' }

/**
 * @param at how often in a row the platform has asked for patience, and whether a page was asked for that
 * is not the first of its window
 * @param chance 0 up to 1
 */
export function adviseOnRefusal(
  { status, retryAfterSeconds, message }: PullRefusal,
  at: { readonly waits: number; readonly isInside: boolean },
  chance: number,
): PullAdvice {
  const asksForPatience = status === 429 || (status === 503 && retryAfterSeconds !== null)
  if (asksForPatience && at.waits < MAX_WAITS) {
    return { kind: 'wait', seconds: waitOf(retryAfterSeconds, at.waits, chance) }
  }
  if (asksForPatience || status >= 500 || status === 408) return { kind: 'retry' }
  if (status < 400) return { kind: 'give_up', code: 'source_redirects', message }
  if (status === 401 || status === 403) return { kind: 'give_up', code: 'source_refused', message }
  if (status === 413) return { kind: 'less' }
  if (status === 422 || (at.isInside && EXPIRED.has(status))) return { kind: 'restart' }
  const code = status === 404 ? 'source_project_unknown' : 'source_rejected'
  return { kind: 'give_up', code, message }
}

/** Without a word of the platform twice as long each time, and not all pulls at once. */
function waitOf(asked: number | null, waits: number, chance: number) {
  const seconds = asked ?? Math.min(MAX_GUESSED_SECONDS, 2 ** (waits + 1)) * (0.5 + chance / 2)
  return Math.min(Math.max(seconds, 1), MAX_WAIT_SECONDS)
}

/** What platforms answer for a cursor that they do not know any more. */
const EXPIRED: ReadonlySet<number> = new Set([400, 404, 410])
const MAX_GUESSED_SECONDS = 300
/** The longest that a job waits at once. */
const MAX_WAIT_SECONDS = 3600
/** About a day of guessed waits; then the platform counts as away. */
const MAX_WAITS = 300
