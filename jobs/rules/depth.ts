/** Whether lists and objects lie deeper in one another than `levels`; costs no more stack than those. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(levels - 1, item))
  // Object.values would make a list of each object; what JSON makes inherits nothing enumerable.
  for (const name in value) {
    if (isDeeperThan(levels - 1, (value as Record<string, unknown>)[name])) return true
  }
  return false
}
