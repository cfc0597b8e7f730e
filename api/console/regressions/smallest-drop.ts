/** A version as far as its interval goes. */
interface Measured {
  readonly ci95_low: number | null
  readonly ci95_high: number | null
}

/**
 * The drop of a mean between two versions that would have been found in four of five cases: 2.8 standard
 * errors of the difference, which is what a two-sided test at 5 % with a power of 80 % needs (1.96 + 0.84; for
 * instance Cohen, Statistical Power Analysis, 1988). An interval of 95 % is 3.92 standard errors wide.
 * @returns on the scale of the metric; undefined where an interval is not known
 */
export function smallestDrop(before: Measured, after: Measured): number | undefined {
  const [a, b] = [standardError(before), standardError(after)]
  return a === undefined || b === undefined ? undefined : 2.8 * Math.hypot(a, b)
}

function standardError({ ci95_low, ci95_high }: Measured) {
  return ci95_low === null || ci95_high === null ? undefined : (ci95_high - ci95_low) / 3.92
}
