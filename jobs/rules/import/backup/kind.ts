import type Joi from 'joi'
import type { Members } from '../format.ts'
import { membersOf } from './member.ts'
import type { Member, MemberSpec } from './member.ts'

/** The lines of a table. */
export interface Kind {
  readonly name: string
  readonly table: string
  /** In the order of a line, after `kind`. */
  readonly members: readonly Member[]
  /**
   * Members that name a row within an organization: what is there already under them is skipped. Followers
   * are skipped with their trace.
   */
  readonly key: readonly string[]
  /** Members by which the lines of a kind are sorted; of a follower those of its trace. */
  readonly order: readonly string[]
  /** The column that says since when the row is there; null where rows have no such time. */
  readonly since: string | null
  /** Further times that are bound: by how many milliseconds each may be later than now. */
  readonly aheadMs: Readonly<Record<string, number>>
  /** Columns that no line has: what makes them anew stands beside them. */
  readonly without: readonly string[]
  /** The line ends with `spans` and `llm_calls`, in the text of the stored content. */
  readonly hasContent: boolean
  /** Stands right after the trace that it is about. */
  readonly isFollower: boolean
  /** By member: what its value must be beside its type. Every member of type `json` has one. */
  readonly shapes: Readonly<Record<string, Joi.Schema>>
  /** What members of the right shapes say against each other; undefined for nothing. */
  readonly fault: ((values: Members) => string | undefined) | null
}

interface KindSpec {
  readonly members: Readonly<Record<string, MemberSpec>>
  readonly key: readonly string[]
  readonly order?: readonly string[]
  readonly since: string | null
  readonly aheadMs?: Kind['aheadMs']
  readonly without?: readonly string[]
  readonly hasContent?: true
  readonly isFollower?: true
  readonly shapes?: Kind['shapes']
  readonly fault?: (values: Members) => string | undefined
}

export function kind<const N extends string>(name: N, table: string, spec: KindSpec) {
  return {
    name,
    table,
    members: membersOf(spec.members),
    key: spec.key,
    order: spec.order ?? spec.key,
    since: spec.since,
    aheadMs: spec.aheadMs ?? {},
    without: ['org_id', ...(spec.without ?? [])],
    hasContent: spec.hasContent ?? false,
    isFollower: spec.isFollower ?? false,
    shapes: spec.shapes ?? {},
    fault: spec.fault ?? null,
  } satisfies Kind
}
