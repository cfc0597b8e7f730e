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

/** Where a pull was refused. */
interface PullPlace {
  /** How often in a row the platform has asked for patience, and how many seconds were waited for. */
  readonly waits: number
  readonly waitedSeconds: number
  /** Whether it was the project that was asked for. */
  readonly isSearching: boolean
  /** Whether a page was asked for that is not the first of its window. */
  readonly isInside: boolean
  /** Whether the window can begin again as a shorter one. */
  readonly canDivide: boolean
}

/** @param chance 0 up to 1 */
export function adviseOnRefusal(
  { status, retryAfterSeconds, message }: PullRefusal,
  at: PullPlace,
  chance: number,
): PullAdvice {
  const asksForPatience = status === 429 || (status === 503 && retryAfterSeconds !== null)
  if (asksForPatience && at.waits < MAX_WAITS && at.waitedSeconds < MAX_WAITED_SECONDS) {
    return { kind: 'wait', seconds: Math.ceil(waitOf(retryAfterSeconds, at.waits, chance)) }
  }
  if (asksForPatience || status >= 500 || status === 408) return { kind: 'retry' }
  if (status < 400) return { kind: 'give_up', code: 'source_redirects', message }
  if (status === 401 || status === 403) return { kind: 'give_up', code: 'source_refused', message }
  if (status === 413) return { kind: 'less' }
  if (at.isInside && EXPIRED.has(status)) return { kind: 'restart' }
  if (status === 422 && at.canDivide) return { kind: 'restart' }
  if (status !== 404) return { kind: 'give_up', code: 'source_rejected', message }
  const hint = at.isSearching ? `. ${NOT_FOUND}` : ''
  return { kind: 'give_up', code: 'source_project_unknown', message: `${message}${hint}` }
}

/** Without a word of the platform twice as long each time, and not all pulls at once. */
function waitOf(asked: number | null, waits: number, chance: number) {
  const seconds = asked ?? Math.min(MAX_GUESSED_SECONDS, 2 ** (waits + 1)) * (0.5 + chance / 2)
  return Math.min(Math.max(seconds, 1), MAX_WAIT_SECONDS)
}

/** What platforms answer for a cursor that they do not know any more. */
const EXPIRED: ReadonlySet<number> = new Set([400, 404, 410, 422])
const NOT_FOUND = 'There is no such project, or base_url is not that of the API of the platform'
const MAX_GUESSED_SECONDS = 300
/** The longest that a job waits at once. */
const MAX_WAIT_SECONDS = 3600
/**
 * Of waits in a row, and of their seconds; then the platform counts as away. So many guessed waits are
 * about a day, and those that the platform names two days at most.
 */
const MAX_WAITS = 300
const MAX_WAITED_SECONDS = 2 * 86_400
