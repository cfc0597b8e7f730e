/**
 * An average as it is shown and compared: to six decimals, so that 0.7 is 0.7 whatever it was summed
 * from.
 */
export function roundAverage(value: number) {
  return Math.round(value * 1e6) / 1e6
}

/** To four decimals, as what is measured of skills is told; null stays null. */
export function round4(value: number): number
export function round4(value: number | null): number | null
export function round4(value: number | null) {
  return value === null ? null : Math.round(value * 10_000) / 10_000
}
