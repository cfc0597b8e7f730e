/** How well the score of a skill is supported, by its tier. */
export const BADGES = ['new', 'provisional', 'supported', 'verified'] as const
export type Badge = (typeof BADGES)[number]

/** @param tier 0 to 3 */
export function badgeOf(tier: number): Badge {
  const badge = BADGES[tier]
  if (badge === undefined) throw new RangeError(`There is no tier ${tier}`)
  return badge
}
