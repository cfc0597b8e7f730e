/**
 * Whether lists and objects of a JSON value lie deeper in one another than `MAX_DEPTH`. It goes level
 * by level and not by recursion, so the depth of a hostile value costs no stack.
 */
export function isTooDeep(value: unknown): boolean {
  let level: Nested[] = isNested(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true
    level = nextLevel(level)
  }
  return false
}

function nextLevel(parents: readonly Nested[]) {
  const children: Nested[] = []
  for (const parent of parents) {
    if (Array.isArray(parent)) {
      for (const child of parent) if (isNested(child)) children.push(child)
      continue
    }
    // Object.values would make a list of each object; what JSON makes inherits nothing enumerable.
    for (const name in parent) {
      const child = parent[name]
      if (isNested(child)) children.push(child)
    }
  }
  return children
}

function isNested(value: unknown): value is Nested {
  return typeof value === 'object' && value !== null
}

/** Levels of lists and objects; a list of numbers has one. */
export const MAX_DEPTH = 64

type Nested = unknown[] | Record<string, unknown>
