import type { RegistryOrder } from '../../jobs/rules/skills/registry-order.ts'
import type { Band, Invocation, Stability } from '../../jobs/rules/skills/skill.ts'
import { unprepared } from '../core/db.ts'
import type { Fragment, Queryable, Sql } from '../core/db.ts'
import { countQuickly } from '../core/pages.ts'
import { answersTo } from './public-skills.ts'
import type { RegistryScore } from './registry-scores.ts'
import { isShown, shownText, shownVersion } from './shown-versions.ts'

/** The public registry as it is read by anybody; `shown-versions.ts` says what is in it. */

/** What is said of the safety of a version that is shown. */
export type ShownBand = Exclude<Band, 'blocked'>

/** A skill in the version that is shown. */
export interface RegistrySkillRow extends Omit<RegistryScore, 'evidence_at'> {
  skill_id: string
  url_slug: string
  registry_name: string
  handle: string
  name: string
  display_name: string | null
  description: string
  category: string | null
  tags: string[]
  author_display_name: string | null
  stability: Stability
  version_id: string
  version_number: number
  band: ShownBand
  install_count: number
  /** Of the version shown. */
  published_at: Date
  first_published_at: Date
}

export interface RegistryFilter {
  /** As in a search box: words in any of their forms, quotes, a hyphen before what is not to be found. */
  readonly query?: string | undefined
  readonly category?: string | undefined
  /** It has all of them. */
  readonly tags?: readonly string[] | undefined
  readonly tier?: number | undefined
  /** Only skills that have what they are in the order of. */
  readonly ranked?: boolean | undefined
  /** It has evidence of this time or later. */
  readonly evidenceSince?: Date | undefined
}

/** Where a skill stands in an order. Those whose name is the query stand before all others. */
export interface RegistryPlace {
  readonly is_other: boolean
  /** A number as text, or Infinity. */
  readonly sort_key: string
  readonly skill_id: string
}

export interface RegistryPage {
  readonly order: RegistryOrder
  readonly after?: RegistryPlace | undefined
  readonly limit: number
}

export type ListedSkillRow = RegistrySkillRow & RegistryPlace

/** The skills that match, in an order, from after a place. */
export function listRegistry(
  sql: Queryable,
  filter: RegistryFilter,
  { order, after, limit }: RegistryPage,
) {
  const key = keyOf(sql, order)
  // Either part is read in the order of an index, or collected where few match: as the planner expects.
  const part = (named: boolean) => sql`(
    select r.skill_id, ${!named}::bool as is_other, ${key} as sort_key
    from ${matching(sql, filter, order, named)}
      ${
        after && after.is_other === !named
          ? sql`and (${key}, r.skill_id) > (${after.sort_key}::numeric, ${after.skill_id}::uuid)`
          : sql``
      }
    order by ${key}, r.skill_id limit ${limit})`
  const isNamedAhead = filter.query !== undefined && !after?.is_other
  return unprepared(sql<ListedSkillRow[]>`
    with page as materialized (
      select * from (${isNamedAhead ? sql`${part(true)} union all` : sql``} ${part(false)}) found
      order by is_other, sort_key, skill_id limit ${limit})
    select ${shownColumns(sql)}, page.is_other, page.sort_key::text
    from page join registry_skills r using (skill_id) ${shownVersion(sql)}
    order by page.is_other, page.sort_key, page.skill_id`)
}

/** How many skills match, counted no further than `limit`; null when that takes longer. */
export function countRegistry(
  sql: Sql,
  filter: RegistryFilter,
  { order, limit, withinMs }: { order: RegistryOrder; limit: number; withinMs: number },
) {
  return countQuickly(sql, limit, matching(sql, filter, order), withinMs)
}

/**
 * A skill with the body of the version shown.
 * @param reference its id, its slug, or `handle/name`
 */
export async function findRegistrySkill(sql: Queryable, reference: string) {
  const [row] = await sql<(RegistrySkillRow & ShownContent)[]>`
    select ${shownColumns(sql)}, v.body, v.body_sha256, v.invocation, v.frontmatter, v.reason_codes,
      (select count(*)::int from registry_files f
        where f.skill_id = v.skill_id and f.version_number = v.version_number) as file_count
    from registry_skills r ${shownVersion(sql)}
    where ${answersTo(sql, reference)} and r.held_at is null`
  return row
}

/** The versions of a skill that are not blocked, the newest first. */
export async function listShownVersions(sql: Queryable, skillId: string, limit: number) {
  return sql<ShownVersionRow[]>`
    select version_id, version_number, change_summary, body_sha256, band, reason_codes, published_at
    from registry_versions where skill_id = ${skillId} and band <> 'blocked'
    order by version_number desc limit ${limit}`
}

function shownColumns(sql: Queryable) {
  return sql`r.skill_id, r.url_slug, r.registry_name, r.handle, r.name, r.display_name,
    ${shownText(sql, 'description')}, ${shownText(sql, 'stability')},
    r.category, r.tags, r.author_display_name, v.version_id, v.version_number, v.band,
    r.tier, r.score::float8, r.bench::float8, r.live::float8, r.rating::float8, r.rating_count,
    r.avg_rating::float8, r.avg_pass_rate::float8, r.lift::float8, r.token_saving::float8, r.benchmark,
    r.install_count, v.published_at, r.first_published_at`
}

/**
 * What follows `from`: the rows `r` that match.
 * @param named whether their name is the query; without it both
 */
function matching(sql: Queryable, filter: RegistryFilter, order: RegistryOrder, named?: boolean) {
  const { query, category, tags, tier, ranked, evidenceSince } = filter
  return sql`registry_skills r where ${isShown(sql)}
    ${query === undefined ? sql`` : sql`and ${matchesQuery(sql, query, named)}`}
    ${category === undefined ? sql`` : sql`and r.category = ${category}`}
    ${tags === undefined ? sql`` : sql`and r.tags @> ${tags as string[]}::text[]`}
    ${tier === undefined ? sql`` : sql`and r.tier = ${tier}`}
    ${ranked ? sql`and ${keyOf(sql, order)} < 'infinity'` : sql``}
    ${evidenceSince === undefined ? sql`` : sql`and r.evidence_at >= ${evidenceSince}`}`
}

function matchesQuery(sql: Queryable, query: string, named: boolean | undefined) {
  if (named === undefined) return sql`(${isFound(sql, query)} or ${isNamed(sql, query)})`
  return named ? isNamed(sql, query) : sql`${isFound(sql, query)} and not ${isNamed(sql, query)}`
}

/** Names have hyphens where the words that they are found by have spaces. */
function isFound(sql: Queryable, query: string) {
  const words = query.replaceAll(/(?<=[\p{L}\p{N}])[-_/](?=[\p{L}\p{N}])/gu, ' ')
  return sql`r.document @@ websearch_to_tsquery('stems', ${words})`
}

/** The query is a name of the skill, in any case and width, with hyphens or spaces. */
function isNamed(sql: Queryable, query: string) {
  const name = query.normalize('NFKC').toLowerCase().trim().replaceAll(/\s+/g, '-')
  return sql`(r.name = ${name} or r.registry_name = ${name} or r.url_slug = ${name})`
}

function keyOf(sql: Queryable, order: RegistryOrder): Fragment {
  return sql`r.${sql(`by_${order}`)}`
}

/** What else is told of the version shown. */
interface ShownContent {
  body: string
  body_sha256: Buffer
  invocation: Invocation
  frontmatter: Record<string, unknown>
  reason_codes: string[]
  /** Beside SKILL.md. */
  file_count: number
}

interface ShownVersionRow {
  version_id: string
  version_number: number
  change_summary: string | null
  body_sha256: Buffer
  band: ShownBand
  reason_codes: string[]
  published_at: Date
}
