/**
 * How a member of a line is written, and what its column holds. With `?` it may be null.
 *
 * - `text`, `int` (bigint too), `float`, `boolean`, `uuid`: as JSON has them
 * - `time`: RFC 3339 in UTC with milliseconds
 * - `bytes`: base64
 * - `json`: any JSON
 * - `texts`, `ints`: lists
 *
 * References have the natural key of a row, since its id may be another one where it is restored:
 *
 * - `workspace`, `project`, `skill`: its name
 * - `dataset`: its name in the line's project
 * - `skill_version`: its number, of the line's `skill`
 * - `public_skill`: the `url_slug` of what another organization published
 * - `public_version`: its number, of the line's `public_skill`
 * - `manifest`: a `ManifestKey` of the line's project
 * - `manifests`: a list of these
 * - `manifests_within`: a list of these with the ids by which they stand in the line's JSON
 *
 * Two are of other tables: `components` are those of a manifest, sorted by type and name, and `blob` is the
 * base64 of the bytes whose SHA-256 is the line's `sha256`.
 */
export type MemberType =
  | 'text'
  | 'int'
  | 'float'
  | 'boolean'
  | 'uuid'
  | 'time'
  | 'bytes'
  | 'json'
  | 'texts'
  | 'ints'
  | 'workspace'
  | 'project'
  | 'skill'
  | 'dataset'
  | 'skill_version'
  | 'public_skill'
  | 'public_version'
  | 'manifest'
  | 'manifests'
  | 'manifests_within'
  | 'components'
  | 'blob'

export interface Member {
  readonly name: string
  readonly type: MemberType
  readonly isNullable: boolean
  /** Of the kind's table; null for what stands in another column or table. */
  readonly column: string | null
}

/** Names a manifest of the line's project, in lines of kinds other than `manifest` and `trace`. */
export interface ManifestKey {
  readonly agent_name: string
  readonly manifest_hash: string
}

/**
 * A type, or a type with the column where that has not the member's name; null where the column is that of a
 * member which says more: of a version of a skill its skill, of one of a dataset its project.
 */
export type MemberSpec = Typed | readonly [type: Typed, column: string | null]
type Typed = MemberType | `${MemberType}?`

/** In the order of their names, which is that of a line. */
export function membersOf(specs: Readonly<Record<string, MemberSpec>>): readonly Member[] {
  return Object.keys(specs)
    .sort()
    .map((name) => memberOf(name, specs[name] as MemberSpec))
}

function memberOf(name: string, spec: MemberSpec): Member {
  const [typed, column] = typeof spec === 'string' ? [spec, undefined] : spec
  const isNullable = typed.endsWith('?')
  const type = (isNullable ? typed.slice(0, -1) : typed) as MemberType
  return { name, type, isNullable, column: column === undefined ? ownColumn(name, type) : column }
}

/** The column of a member whose kind names none. */
function ownColumn(name: string, type: MemberType) {
  if (ELSEWHERE.has(type)) return null
  if (type === 'skill_version') return 'version_id'
  if (type === 'manifests') return 'manifest_ids'
  return NAMED_ROWS.has(type) ? `${name}_id` : name
}

const ELSEWHERE: ReadonlySet<MemberType> = new Set(['components', 'blob', 'manifests_within'])
const NAMED_ROWS: ReadonlySet<MemberType> = new Set([
  'workspace',
  'project',
  'skill',
  'dataset',
  'manifest',
])
