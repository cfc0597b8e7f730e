import type { Options } from './recipe.ts'

/**
 * Which pairs to leave out so that chosen turns are on average neither longer nor shorter than
 * rejected ones: the most one-sided first, until the mean of the ratios is within `MEAN_LENGTH_RATIO`.
 * Few pairs are all kept, and of many only a tenth is ever left out.
 * @param ratios in ascending order; for equal ones the last is left out first
 * @returns how many to leave out at each end, and the mean of those that stay; 0 without any
 */
export function balanceLengths(
  ratios: Float64Array,
  { length_balance: isAsked }: Pick<Options, 'length_balance'>,
) {
  const { length } = ratios
  const most = isAsked && length >= LEAST_BALANCED ? Math.floor(length * MOST_LEFT_OUT) : 0
  let low = 0
  let high = 0
  let sum = ratios.reduce((total, ratio) => total + ratio, 0)
  const mean = () => (length === 0 ? 0 : sum / (length - low - high))
  while (low + high < most && isBiased(mean())) {
    sum -= ratios[sum > 0 ? length - ++high : low++] ?? 0
  }
  return { low, high, mean: mean() }
}

/** Whether a trainer would learn from the lengths of chosen and rejected turns. */
export function isBiased(meanLengthRatio: number) {
  return Math.abs(meanLengthRatio) > MEAN_LENGTH_RATIO
}

const MEAN_LENGTH_RATIO = 0.05
/** Fewer pairs tell little of a mean. */
const LEAST_BALANCED = 20
const MOST_LEFT_OUT = 0.1
