import type { Checkpoint } from '../../../jobs/job.ts'
import type { pullTraces } from '../../../jobs/pull-traces.ts'
import { firstWindow, nextWindow } from '../../../jobs/rules/import/pull-window.ts'
import type { PullWindow } from '../../../jobs/rules/import/pull-window.ts'
import type { PulledImport } from '../../../sql/import/imports.ts'
import type { Progress } from '../../../sql/jobs/jobs.ts'
import type { PlatformPage } from './platform.ts'
import type { ReadyPage } from './ready-page.ts'

/** Where a pull goes on, or how it ended. */
export type PullCursor = Checkpoint<typeof pullTraces>

/** Where a pull begins. @param pageRows rows that its pages are asked for */
export function firstCursor({ connection }: PulledImport, pageRows: number): PullCursor {
  const { since, until } = connection
  const none = { line: 0, bytes: 0, attempt: 0, isSliceEnd: false, waits: 0, empty: 0 }
  return { ...none, limit: pageRows, ...membersOf(firstWindow(new Date(since), new Date(until))) }
}

export function windowOf({ from, to, rows, window_seconds: seconds }: PullCursor): PullWindow {
  return { from, to, rows, seconds }
}

/** The same cursor at the beginning of a window. */
export function atWindow(cursor: PullCursor, window: PullWindow): PullCursor {
  return { ...cursor, ...membersOf(window), page: undefined }
}

/**
 * The cursor behind a page. Pages that were asked for less, because larger ones were too large, are asked
 * for more in the next window.
 */
export function behindPage(
  cursor: PullCursor,
  { records, next, pages }: PlatformPage,
  { chunks }: ReadyPage,
  { connection }: PulledImport,
  pageRows: number,
): PullCursor {
  const hasParts = cursor.chunk_no !== undefined || chunks.some(({ staged }) => staged)
  const hasSpanScores = cursor.span_scores === true || chunks.some(({ hasSpanScores: has }) => has)
  const read: PullCursor = {
    ...cursor,
    line: cursor.line + records.length,
    rows: cursor.rows + records.length,
    waits: 0,
    waited_seconds: 0,
    empty: next === undefined || records.length > 0 ? 0 : cursor.empty + 1,
    page: next,
    ...(hasParts && { chunk_no: (cursor.chunk_no ?? 0) + chunks.length }),
    ...(hasSpanScores && { span_scores: true }),
  }
  if (next !== undefined) return read
  // A window that is better read in one page is too long with more records than that.
  const few = pages === undefined ? undefined : NUMBERED_FEW
  const window = nextWindow(windowOf(read), new Date(connection.until), few)
  if (window) return { ...atWindow(read, window), limit: Math.min(pageRows, 2 * read.limit) }
  if (hasParts) return { ...read, phase: hasSpanScores ? 'place' : 'assemble' }
  return { ...read, end: {} }
}

/** How far a pull is: `2026-11-03 of 2026-11-21`. */
export function pullProgress({ line, from }: PullCursor, { connection }: PulledImport): Progress {
  const until = new Date(connection.until)
  return { done: line, unit: 'records', note: `${dayOf(from)} of ${dayOf(until)}` }
}

function membersOf({ from, to, rows, seconds }: PullWindow) {
  return { from, to, rows, window_seconds: seconds }
}

function dayOf(time: Date) {
  return time.toISOString().slice(0, 10)
}

/** Records of a window that is too short, where pages are numbered: as many as these have. */
const NUMBERED_FEW = 100
