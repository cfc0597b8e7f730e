/** JSON with other ids of manifests, which stand in `manifest_id` and `manifest_ids`. @param ids by those that it has */
export function withManifestIds(
  value: unknown,
  ids: ReadonlyMap<string, string>,
  isId = false,
): unknown {
  if (typeof value === 'string') return isId ? (ids.get(value) ?? value) : value
  if (Array.isArray(value)) return value.map((each) => withManifestIds(each, ids, isId))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(
    ([name, member]) => [name, withManifestIds(member, ids, NAMES.has(name))] as const,
  )
  return Object.fromEntries(members)
}

const NAMES: ReadonlySet<string> = new Set(['manifest_id', 'manifest_ids'])
