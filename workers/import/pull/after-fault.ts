import { NOT_REACHED } from '../../../jobs/rules/core/outbound-address.ts'
import { adviseOnRefusal } from '../../../jobs/rules/import/pull-advice.ts'
import { halfWindow } from '../../../jobs/rules/import/pull-window.ts'
import { NoAnswer } from '../../outbound/guarded-fetch.ts'
import type { OutboundFault } from '../../outbound/request.ts'
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
 * @param asked how many rows the page was asked for, and a chance, 0 up to 1
 * @throws GiveUp where another try would fail as well, and every error that is not the platform's
 */
export function afterFault(error: unknown, cursor: PullCursor, asked: Asked): Turn {
  if (error instanceof SourceRefused) return afterRefusal(error, cursor, asked)
  if (error instanceof NoAnswer) return afterSilence(error, cursor, asked)
  if (error instanceof SourceUnreadable) return afterUnreadable(error, cursor, asked)
  if (error instanceof ProjectUnknown) throw new GiveUp('source_project_unknown', error.message)
  throw error
}

function afterRefusal(refused: SourceRefused, cursor: PullCursor, asked: Asked): Turn {
  const advice = adviseOnRefusal(refused, placeOf(cursor), asked.chance)
  switch (advice.kind) {
    case 'wait': {
      const waited_seconds = (cursor.waited_seconds ?? 0) + advice.seconds
      return { ...advice, cursor: { ...cursor, waits: cursor.waits + 1, waited_seconds } }
    }
    case 'retry':
      return retry(halved(cursor, asked), 'source_unavailable', refused.message)
    case 'less':
      return withLess(cursor, asked)
    case 'restart':
      return restart(cursor, refused.message)
    case 'give_up':
      throw new GiveUp(advice.code, advice.message)
  }
}

function placeOf(cursor: PullCursor) {
  const isSearching = cursor.project === undefined
  return {
    waits: cursor.waits,
    waitedSeconds: cursor.waited_seconds ?? 0,
    isSearching,
    isInside: cursor.page !== undefined,
    canDivide: !isSearching && halfWindow(windowOf(cursor)) !== undefined,
  }
}

/** A shorter window; one that cannot be shorter begins again later. */
function restart(cursor: PullCursor, message: string): Turn {
  const shorter = halfWindow(windowOf(cursor))
  if (shorter) return { kind: 'again', cursor: atWindow(cursor, shorter) }
  const again = atWindow(cursor, { ...windowOf(cursor), rows: 0 })
  return retry(again, 'source_cursor_expired', message)
}

function afterSilence({ fault, message }: NoAnswer, cursor: PullCursor, asked: Asked): Turn {
  if (fault === 'blocked_address') {
    throw new GiveUp(fault, `The base_url ${NOT_REACHED}`)
  }
  if (fault === 'too_large') return withLess(cursor, asked)
  const isLost = LOST.has(fault)
  return retry(isLost ? halved(cursor, asked) : cursor, 'source_unavailable', message)
}

/** What answers otherwise than the API of a platform before anything was read is not its API. */
function afterUnreadable({ message }: SourceUnreadable, cursor: PullCursor, asked: Asked): Turn {
  if (cursor.project !== undefined) {
    return retry(halved(cursor, asked), 'source_unreadable', message)
  }
  throw new GiveUp('source_unreadable', `${message}. ${OTHER_API}`)
}

function withLess(cursor: PullCursor, asked: Asked): Turn {
  if (cursor.project === undefined) {
    throw new GiveUp('source_unreadable', `The answer is too large. ${OTHER_API}`)
  }
  if (asked.rows > 1) return { kind: 'again', cursor: halved(cursor, asked) }
  throw new GiveUp('source_page_too_large', 'A page of one record is too large')
}

/** What a platform does not bring to an end may be too much. What finds the project has no rows. */
function halved(cursor: PullCursor, { rows }: Asked): PullCursor {
  if (cursor.project === undefined) return cursor
  return { ...cursor, limit: Math.max(1, Math.floor(rows / 2)) }
}

function retry(cursor: PullCursor, code: string, message: string): Turn {
  return { kind: 'retry', cursor, error: new OutsideFault(code, message) }
}

/** What becomes of a connection when a server ends over a page. */
const LOST: ReadonlySet<string> = new Set<OutboundFault>([
  'timeout',
  'connection_refused',
  'connection_reset',
  'connection_error',
])
const OTHER_API = 'Perhaps base_url is not that of the API of the platform'

interface Asked {
  readonly rows: number
  readonly chance: number
}
