/**
 * One for each import that leads back to a name on the way to it: the names along it, and the first one
 * again. What comes first in `imports` is followed first.
 */
export function findCycles(imports: ReadonlyMap<string, Iterable<string>>): string[][] {
  const cycles: string[][] = []
  const way: string[] = []
  const left = new Set<string>()
  function follow(name: string) {
    if (left.has(name)) return
    if (way.includes(name)) return void cycles.push([...way.slice(way.indexOf(name)), name])
    way.push(name)
    for (const imported of imports.get(name) ?? []) follow(imported)
    way.pop()
    left.add(name)
  }
  for (const name of imports.keys()) follow(name)
  return cycles
}
