/** A range of time whose records are read from the platform, and how many of them there were. */
export interface PullWindow {
  readonly from: Date
  readonly to: Date
  /** Records that it has given. */
  readonly rows: number
  /** Seconds that the next window lasts. */
  readonly seconds: number
}

/** The first window of a range. */
export function firstWindow(since: Date, until: Date): PullWindow {
  return windowFrom(since, until, DAY_SECONDS)
}

/**
 * The window after one that was read to its end; undefined after the last. It is half as long where that one
 * had very many records, since an expired cursor costs a window, and twice as long where it had few.
 * @param few records of a window that is too short
 */
export function nextWindow(
  { to, rows, seconds }: PullWindow,
  until: Date,
  few = FEW_ROWS,
): PullWindow | undefined {
  if (to >= until) return undefined
  return windowFrom(to, until, lengthAfter(rows, seconds, few))
}

/**
 * The window to begin again with when one has more pages than it may have: as many times its first half as
 * make a page of so many. Undefined where it is too short to be divided.
 */
export function windowOfPage(window: PullWindow, pages: number): PullWindow | undefined {
  const half = pages > 1 ? halfWindow(window) : undefined
  return half && (windowOfPage(half, pages / 2) ?? half)
}

/**
 * The window to begin again with when the cursor of one has expired: the first half of it. Undefined where
 * that is too short to be divided.
 */
export function halfWindow({ from, to }: PullWindow): PullWindow | undefined {
  const seconds = Math.floor((to.getTime() - from.getTime()) / 2000)
  return seconds < SHORTEST_SECONDS ? undefined : windowFrom(from, to, seconds)
}

function lengthAfter(rows: number, seconds: number, few: number) {
  if (rows > MANY_ROWS) return Math.max(SHORTEST_SECONDS, Math.floor(seconds / 2))
  return rows < few ? Math.min(LONGEST_SECONDS, seconds * 2) : seconds
}

function windowFrom(from: Date, until: Date, seconds: number): PullWindow {
  const to = new Date(Math.min(until.getTime(), from.getTime() + seconds * 1000))
  return { from, to, rows: 0, seconds }
}

/** Where a pull begins that names no time: before it none of the platforms was there. */
export const EARLIEST = new Date('2023-01-01T00:00:00Z')

const DAY_SECONDS = 86_400
const LONGEST_SECONDS = 32 * DAY_SECONDS
const SHORTEST_SECONDS = 60
/** Records of a window that is too long. */
const MANY_ROWS = 100_000
/** Of one that is too short. */
const FEW_ROWS = 1000
