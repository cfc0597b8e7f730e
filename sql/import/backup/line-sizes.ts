import type { Kind } from '../../../jobs/rules/import/backup/kind.ts'
import type { Member, MemberType } from '../../../jobs/rules/import/backup/member.ts'

/**
 * The expression of about how many bytes a row of a kind has in memory, over the names of `sourceOf`: what is
 * long is measured, all else taken for short.
 */
export function sizeOf({ members, hasContent }: Kind): string {
  const measured = members.flatMap((member) => sizeOfMember(member) ?? [])
  const long = hasContent ? [...measured, 'octet_length(t.content)'] : measured
  return [`${members.length * MEMBER_BYTES}::bigint`, ...long].join(' + ')
}

/** How many of the first rows of these sizes are a page, at least one. */
export function countOfPage(sizes: readonly number[]): number {
  let bytes = 0
  const tooMany = sizes.findIndex((size) => (bytes += size) > PAGE_BYTES)
  return tooMany === -1 ? sizes.length : Math.max(1, tooMany)
}

function sizeOfMember({ type, column }: Member) {
  const size = SIZES[type]
  return size && `coalesce(${size(`t.${column}`)}, 0)`
}

/** The length of a text is known without reading it. */
const ofText = (value: string) => `octet_length(${value})`
/** So is that of other values, unless they are compressed: then they are read, as no bound follows from their size. */
const ofAny = (value: string) =>
  `case when pg_column_compression(${value}) is null then pg_column_size(${value}) else octet_length(${value}::text) end`

const SIZES: Readonly<Partial<Record<MemberType, (column: string) => string>>> = {
  text: ofText,
  json: ofAny,
  texts: ofAny,
  ints: ofAny,
  manifests: ofAny,
  blob: () => ofText('b.content'),
  components: () => `(select sum(${ofAny('c.schema_json')} + ${ofText('c.component_name')})
    from manifest_components c where c.org_id = t.org_id and c.manifest_id = t.id)`,
}

/** A name, and a value that is not long. */
const MEMBER_BYTES = 32
/** A page may have one row that is larger. */
const PAGE_BYTES = 4 << 20
