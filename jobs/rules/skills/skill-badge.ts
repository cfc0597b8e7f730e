/** What the evidence of a skill's quality comes to, by its tier. */
export const SKILL_BADGES = ['new', 'provisional', 'supported', 'verified'] as const
export type SkillBadge = (typeof SKILL_BADGES)[number]

/** @param tier 0 to 3 */
export function badgeOf(tier: number): SkillBadge {
  return SKILL_BADGES[tier] ?? 'new'
}
