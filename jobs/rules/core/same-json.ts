/**
 * Whether two values, as they are read from JSON, have the same JSON text: objects with the same members
 * in the same order. It may say no of some that have, such as dates, and never yes of others.
 */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) return Array.isArray(b) && isSameList(a, b)
  return !Array.isArray(b) && isSameObject(a as Members, b as Members)
}

function isSameList(a: readonly unknown[], b: readonly unknown[]) {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!isSameJson(a[i], b[i])) return false
  return true
}

function isSameObject(a: Members, b: Members) {
  const names = Object.keys(a)
  if (names.length === 0) return isPlain(a) && isPlain(b) && Object.keys(b).length === 0
  let count = 0
  // Faster than a second list of names; what JSON makes inherits nothing enumerable.
  for (const name in b) {
    if (name !== names[count++] || !isSameJson(a[name], b[name])) return false
  }
  return count === names.length
}

/** Others without members, such as dates, have a text all the same. */
function isPlain(value: object) {
  return Object.getPrototypeOf(value) === Object.prototype
}

type Members = Readonly<Record<string, unknown>>
