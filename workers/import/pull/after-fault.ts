import { adviseOnRefusal } from '../../../jobs/rules/import/pull-advice.ts'
import { halfWindow } from '../../../jobs/rules/import/pull-window.ts'
import { NoAnswer } from '../../outbound/guarded-fetch.ts'
import { GiveUp, OutsideFault } from '../../runtime/give-up.ts'
import { ProjectUnknown, SourceRefused, SourceUnreadable } from './platform.ts'
import { atWindow, windowOf } from './pull-cursor.ts'
import type { PullCursor } from './pull-cursor.ts'

/** How a pull goes on after a page that did not come, and from which cursor. */
export type Turn = { readonly cursor: PullCursor } & (
  | { readonly kind: 'again' }
  | { readonly kind: 'wait'; readonly seconds: number }
  /** Later, as after any error. */
  | { readonly kind: 'retry'; readonly error: OutsideFault }
)

/**
 * @param chance 0 up to 1
 * @throws GiveUp where another try would fail as well, and every error that is not the platform's
 */
export function afterFault(error: unknown, cursor: PullCursor, chance: number): Turn {
  if (error instanceof SourceRefused) return afterRefusal(error, cursor, chance)
  if (error instanceof NoAnswer) return afterSilence(error, cursor)
  if (error instanceof SourceUnreadable) return retry(cursor, 'source_unreadable', error.message)
  if (error instanceof ProjectUnknown) throw new GiveUp('source_project_unknown', error.message)
  throw error
}

function afterRefusal(refused: SourceRefused, cursor: PullCursor, chance: number): Turn {
  const at = { waits: cursor.waits, isInside: cursor.page !== undefined }
  const advice = adviseOnRefusal(refused, at, chance)
  switch (advice.kind) {
    case 'wait':
      return { ...advice, cursor: { ...cursor, waits: cursor.waits + 1 } }
    case 'retry':
      return retry(halved(cursor), 'source_unavailable', refused.message)
    case 'less':
      return withLess(cursor)
    case 'restart':
      return restart(cursor, refused.message)
    case 'give_up':
      throw new GiveUp(advice.code, advice.message)
  }
}

/** A shorter window; one that cannot be shorter begins again later. */
function restart(cursor: PullCursor, message: string): Turn {
  const shorter = halfWindow(windowOf(cursor))
  if (shorter) return { kind: 'again', cursor: atWindow(cursor, shorter) }
  const again = atWindow(cursor, { ...windowOf(cursor), rows: 0 })
  return retry(again, 'source_cursor_expired', message)
}

function afterSilence({ fault, message }: NoAnswer, cursor: PullCursor): Turn {
  if (fault === 'blocked_address') {
    throw new GiveUp(fault, 'The base_url leads to an address that may not be reached')
  }
  if (fault === 'too_large') return withLess(cursor)
  return retry(fault === 'timeout' ? halved(cursor) : cursor, 'source_unavailable', message)
}

function withLess(cursor: PullCursor): Turn {
  if (cursor.limit > 1) return { kind: 'again', cursor: halved(cursor) }
  throw new GiveUp('source_page_too_large', 'A page of one record is too large')
}

/** What takes a platform too long may be too much. */
function halved(cursor: PullCursor): PullCursor {
  return { ...cursor, limit: Math.max(1, Math.floor(cursor.limit / 2)) }
}

function retry(cursor: PullCursor, code: string, message: string): Turn {
  return { kind: 'retry', cursor, error: new OutsideFault(code, message) }
}
