export const DAY_MS = 86_400_000

/** By how much the clock of who tells a time may be ahead of ours. */
export const CLOCK_AHEAD_MS = 5 * 60_000
