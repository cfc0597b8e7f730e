/**
 * How many cases an evaluation has: the items of its list `cases`, each on lines of its own. Null where it
 * has no such list. Only this is read of the YAML, so what is wrong with the rest does not matter.
 */
export function countEvalCases(yaml: string): number | null {
  const [, after] = yaml.split(/^cases:[ \t]*(?:#.*)?\r?$/m)
  if (after === undefined) return null
  // The next member ends the list. Its items may begin as far left as that does.
  const [list = ''] = after.split(/^[^\s#-]/m, 1)
  const items = [...list.matchAll(/^( *)-(?=\s|$)/gm)]
  // A list within an item stands further right than the item.
  return items.filter(([, indent]) => indent === items[0]?.[1]).length
}
