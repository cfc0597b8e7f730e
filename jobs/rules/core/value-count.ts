/** Whether a JSON value holds more than so many values, itself counted; it looks at no more of them. */
export function holdsMoreValues(value: unknown, max: number): boolean {
  const open: unknown[] = [value]
  let left = max
  while (open.length > 0) {
    const next = open.pop()
    if (left-- === 0) return true
    if (typeof next !== 'object' || next === null) continue
    const children = Array.isArray(next) ? next : Object.values(next)
    if (children.length > left) return true
    for (const child of children) open.push(child)
  }
  return false
}
