import type { Band } from './skill.ts'

/**
 * The band that a version had until now, as it was shown, or undefined when nobody has to be told: it is
 * the same, or a first scan has found nothing.
 * @param said the newest review and the last scan of the version, and how the version before is shown
 */
export function changedBand(
  said: {
    readonly reviewed: Band | null
    readonly scanned: Band | null
    readonly band_before: Band | null
  },
  band: Band,
): Band | undefined {
  const previous = said.reviewed ?? said.scanned ?? said.band_before ?? 'unreviewed'
  if (previous === band) return undefined
  return previous === 'unreviewed' && band === 'passed' ? undefined : previous
}
