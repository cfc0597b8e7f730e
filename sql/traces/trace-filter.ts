import { VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import type { Fragment, Queryable } from '../core/db.ts'
import { matchesText } from './trace-search.ts'
import { ofManifest, ofUntied } from './traces.ts'

export interface TraceFilter {
  /** Null for all projects of the organization. */
  readonly projectIds: readonly string[] | null
  readonly agent_name?: string | undefined
  readonly manifest_id?: string | undefined
  readonly manifest_hash?: string | undefined
  readonly session_id?: string | undefined
  readonly task_id?: string | undefined
  readonly parent_trace_id?: string | undefined
  readonly status?: string | undefined
  readonly source_type?: string | undefined
  readonly environment?: string | undefined
  readonly user_id?: string | undefined
  readonly verdict?: string | undefined
  readonly eval_verdict?: string | undefined
  /** Those whose verdict a person should look at. */
  readonly needs_review?: true | undefined
  /** A trace must have all of them. */
  readonly tags?: readonly string[] | undefined
  /** A tool that was called. */
  readonly tool?: string | undefined
  /** Bounds of the quality, both included. */
  readonly min_score?: number | undefined
  readonly max_score?: number | undefined
  /** Started at or after. */
  readonly since?: Date | undefined
  /** Started before. */
  readonly until?: Date | undefined
  /** Words of the input, the output or the error. */
  readonly q?: string | undefined
  /** Came before. */
  readonly created_before?: Date | undefined
}

/** The tables with a row a trace, by the names that conditions call their rows. */
export const FILTERED = { t: 'traces', v: 'verdicts', s: 'trace_search' } as const
export type FilteredTable = keyof typeof FILTERED

/** The members with a condition each; since and until bound what is read instead. */
type Member = Exclude<keyof TraceFilter, 'projectIds' | 'since' | 'until'>

/** Where the newest traces are read first: one table, or parts of it, that an index has in their order. */
export interface TraceSource {
  readonly table: FilteredTable
  /** The member that holds for all that is read; undefined where none does. */
  readonly member: Member | undefined
  /** A condition for each part. The parts have no row in common. */
  readonly parts: readonly Fragment[]
}

/**
 * The source for a filter. What names few traces comes first; then a word that most traces have not; then
 * the need of a review. A verdict comes before what most traces share, because its index has the agent
 * beside it.
 */
export function sourceOf(sql: Queryable, orgId: string, filter: TraceFilter): TraceSource {
  const isGiven = (member: Member) => filter[member] !== undefined
  const along = (table: FilteredTable, member: EqualMember) => ({
    table,
    member,
    parts: [isEqual(sql, table, member, filter)],
  })
  const few = FEW_OF_ONE.find(isGiven)
  if (few) return along('t', few)
  if (filter.manifest_id !== undefined) {
    const { manifest_id } = filter
    const parts = [sql`t.manifest_id = ${manifest_id}`, ofUntied(sql, orgId, manifest_id)]
    return { table: 't', member: 'manifest_id', parts }
  }
  const unusual = USUAL.find(([member, word]) => isGiven(member) && filter[member] !== word)
  if (unusual) return along('t', unusual[0])
  if (isGiven('needs_review')) {
    return { table: 'v', member: 'needs_review', parts: [sql`v.needs_review`] }
  }
  const decided = OF_VERDICTS.find(isGiven)
  if (decided) return along('v', decided)
  const many = MANY_OF_ONE.find(isGiven)
  if (many) return along('t', many)
  if (isGiven('q')) return { table: 's', member: undefined, parts: [hasTrace(sql)] }
  if (isGiven('min_score') || isGiven('max_score')) {
    return {
      table: 'v',
      member: undefined,
      parts: VERDICTS.map((word) => sql`v.verdict = ${word}`),
    }
  }
  return { table: 't', member: undefined, parts: [sql`true`] }
}

/** The conditions of a filter by the table that they are on. */
export type Conditions = Readonly<Record<FilteredTable, readonly Fragment[]>>

/**
 * The conditions of all members, or of those that do not hold anyway in what a source reads.
 * @param source undefined where the tables are joined
 */
export function conditionsOf(
  sql: Queryable,
  orgId: string,
  filter: TraceFilter,
  source?: TraceSource,
): Conditions {
  const { manifest_id, needs_review, tags, tool, min_score, max_score, q, created_before } = filter
  const equal = (table: FilteredTable, members: readonly EqualMember[]) =>
    members
      .filter((member) => filter[member] !== undefined && member !== source?.member)
      .map((member) => isEqual(sql, table, member, filter))
  const isTied = manifest_id !== undefined && source?.member !== 'manifest_id'
  const ofTraces = [
    ...equal('t', [...FEW_OF_ONE, ...MANY_OF_ONE.filter((member) => member !== 'agent_name')]),
    ...(isTied ? [ofManifest(sql, orgId, manifest_id)] : []),
    ...(tags?.length ? [sql`t.tags @> ${tags}::text[]`] : []),
    ...(tool === undefined ? [] : [sql`t.tools_called @> ${[tool]}::text[]`]),
    ...(created_before ? [sql`coalesce(t.restored_at, t.created_at) < ${created_before}`] : []),
  ]
  const ofVerdicts = [
    ...equal('v', OF_VERDICTS),
    ...(needs_review && source?.member !== 'needs_review' ? [sql`v.needs_review`] : []),
    ...(min_score === undefined ? [] : [sql`v.quality_avg >= ${min_score}`]),
    ...(max_score === undefined ? [] : [sql`v.quality_avg <= ${max_score}`]),
  ]
  // Both tables have the agent: where they are joined, it makes fewer rows of each.
  const isInVerdicts = source ? source.table === 'v' : ofVerdicts.length > 0
  const isInTraces = source ? source.table !== 'v' : !isInVerdicts || ofTraces.length > 0
  return {
    t: [...(isInTraces ? equal('t', ['agent_name']) : []), ...ofTraces],
    v: [...(isInVerdicts ? equal('v', ['agent_name']) : []), ...ofVerdicts],
    s: q === undefined ? [] : [hasTrace(sql), matchesText(sql, q)],
  }
}

/** Rows that lost their trace, as older releases left them, have no start. */
function hasTrace(sql: Queryable) {
  return sql`s.started_at is not null`
}

function isEqual(
  sql: Queryable,
  table: FilteredTable,
  member: EqualMember,
  filter: TraceFilter,
): Fragment {
  return sql`${sql(`${table}.${member}`)} = ${filter[member] ?? null}`
}

/** Columns that each have an index in the order of lists, by how few traces one value has. */
const FEW_OF_ONE = ['session_id', 'task_id', 'parent_trace_id', 'user_id', 'manifest_hash'] as const
const MANY_OF_ONE = ['agent_name', 'environment', 'status', 'source_type'] as const
const OF_VERDICTS = ['verdict', 'eval_verdict'] as const
/** What most traces have. Of several that a filter names otherwise the first is the source. */
const USUAL = [
  ['source_type', 'production'],
  ['status', 'success'],
  ['environment', 'production'],
] as const

type EqualMember =
  (typeof FEW_OF_ONE)[number] | (typeof MANY_OF_ONE)[number] | (typeof OF_VERDICTS)[number]
