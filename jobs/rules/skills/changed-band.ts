import type { Band } from './skill.ts'

/**
 * The band that a version had until now, as it was shown, or undefined when nobody has to be told: it is
 * the same, or a first scan has found nothing.
 * @param said what was last said of the version, and how the version before is shown
 */
export function changedBand(
  said: {
    readonly last_band: Band | null
    readonly band_before: Band | null
  },
  band: Band,
): Band | undefined {
  const previous = said.last_band ?? said.band_before ?? 'unreviewed'
  if (previous === band) return undefined
  return previous === 'unreviewed' && band === 'passed' ? undefined : previous
}
