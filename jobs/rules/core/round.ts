/**
 * An average as it is shown and compared: to six decimals, so that 0.7 is 0.7 whatever it was summed
 * from.
 */
export function roundAverage(value: number) {
  return Math.round(value * 1e6) / 1e6
}
