/** What the evidence of a skill's quality comes to, by its tier. */
export const BADGES = ['new', 'provisional', 'supported', 'verified'] as const
export type Badge = (typeof BADGES)[number]

/** @param tier 0 to 3 */
export function badgeOf(tier: number): Badge {
  return BADGES[tier] ?? 'new'
}
