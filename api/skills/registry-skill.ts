import Joi from 'joi'
import { BENCHMARK_VERDICTS } from '../../jobs/rules/skills/benchmark-run.ts'
import { metricOf, REGISTRY_SORTS } from '../../jobs/rules/skills/registry-order.ts'
import type { RegistryOrder } from '../../jobs/rules/skills/registry-order.ts'
import { badgeOf, BADGES } from '../../jobs/rules/skills/skill-badge.ts'
import { BANDS, STABILITIES } from '../../jobs/rules/skills/skill.ts'
import { listOf, oneOf } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findInstalledNames } from '../../sql/skills/public-skills.ts'
import type { RegistrySkillRow } from '../../sql/skills/registry.ts'
import { nullable, times } from '../fields.ts'
import type { Principal } from '../principal.ts'

/** A public skill as everybody sees it. */

/** Null where it was not measured. */
const measured = () => nullable(Joi.number())

export const registrySkillFields = {
  id: Joi.string().guid().required().description('As skill_id'),
  skill_id: Joi.string().guid().required(),
  url_slug: Joi.string().required(),
  registry_name: Joi.string().required().description('handle/name'),
  handle: Joi.string().required().description('Of the organization that publishes it'),
  name: Joi.string().required(),
  display_name: nullable(Joi.string()),
  description: Joi.string().required(),
  category: nullable(Joi.string()),
  tags: listOf(Joi.string()).required(),
  author_display_name: nullable(Joi.string()),
  stability: oneOf(...STABILITIES).required(),
  version_id: Joi.string().guid().required(),
  version_number: Joi.number().integer().required().description('The newest that is not blocked'),
  skill_safety: oneOf(...BANDS)
    .required()
    .description('What the safety scan, or a person, says of this version'),
  skill_badge: oneOf(...BADGES)
    .required()
    .description('How well the score is supported: the tier as a word'),
  effectiveness: Joi.object({
    skill_score: measured().description('0 to 1; null without evidence'),
    tier: Joi.number().integer().required().description('0 to 3'),
    avg_pass_rate: measured(),
    score_components: Joi.object({
      bench: measured(),
      live: measured(),
      rating: measured(),
      provisional: Joi.boolean().required().description('Of one kind of evidence, or of little'),
    })
      .required()
      .description('Lower bounds, 0 to 1; null where there is no evidence of the kind')
      .label('SkillScoreComponents'),
  })
    .required()
    .label('SkillEffectiveness'),
  benchmark_summary: nullable(
    Joi.object({
      verdict: oneOf(...BENCHMARK_VERDICTS)
        .required()
        .description('Whether all cases passed with the skill, none or some'),
      passed_cases: Joi.number().integer().required(),
      total_cases: Joi.number().integer().required(),
      pass_rate_delta_pts: measured().description('What the skill adds, in points of 100'),
      never_hurt: Joi.boolean().required().description('Nothing failed that passes without it'),
      tokens_delta_pct: measured(),
      turns_delta_pct: measured(),
    }).label('BenchmarkSummary'),
  ).description('Of the newest benchmark; null without one'),
  avg_rating: measured().description('0 to 1'),
  rating_count: Joi.number().integer().required(),
  install_count: Joi.number().integer().required(),
  installed_as: nullable(Joi.string()).description(
    'The caller’s installation of it; null without one, and without a key',
  ),
  published_at: times.required().description('When this version was'),
  first_published_at: times.required(),
}

const listedFields = {
  ...registrySkillFields,
  metric: Joi.object({
    name: oneOf(...new Set(Object.values(REGISTRY_SORTS))).required(),
    value: Joi.alternatives(Joi.number(), Joi.string()).allow(null).required(),
    label: Joi.string().required().description('For people'),
  })
    .required()
    .description('What the list is in the order of')
    .label('RegistryMetric'),
}

export const listedSkillBody = Joi.object({
  ...listedFields,
  rank: Joi.number().integer().description('From 1, with view=ranks'),
}).label('RegistryItem')

export const rankedSkillBody = Joi.object({
  ...listedFields,
  rank: Joi.number().integer().required().description('From 1'),
}).label('RankedRegistryItem')

export function viewRegistrySkill(skill: RegistrySkillRow, installedAs: string | undefined) {
  const { skill_id: id, band, tier, benchmark } = skill
  return {
    id,
    skill_id: id,
    url_slug: skill.url_slug,
    registry_name: skill.registry_name,
    handle: skill.handle,
    name: skill.name,
    display_name: skill.display_name,
    description: skill.description,
    category: skill.category,
    tags: skill.tags,
    author_display_name: skill.author_display_name,
    stability: skill.stability,
    version_id: skill.version_id,
    version_number: skill.version_number,
    skill_safety: band,
    skill_badge: badgeOf(tier),
    effectiveness: {
      skill_score: skill.score,
      tier,
      avg_pass_rate: skill.avg_pass_rate,
      score_components: {
        bench: skill.bench,
        live: skill.live,
        rating: skill.rating,
        provisional: badgeOf(tier) === 'provisional',
      },
    },
    benchmark_summary: benchmark,
    avg_rating: skill.avg_rating,
    rating_count: skill.rating_count,
    install_count: skill.install_count,
    installed_as: installedAs ?? null,
    published_at: skill.published_at,
    first_published_at: skill.first_published_at,
  }
}

/** Skills in an order, as viewed by the caller. @param firstRank of the first; undefined for no ranks */
export async function viewListed(
  sql: Queryable,
  principal: Principal | undefined,
  rows: readonly RegistrySkillRow[],
  { order, firstRank }: { order: RegistryOrder; firstRank?: number | undefined },
) {
  const installed = await installedNames(sql, principal, rows)
  return rows.map((row, index) => ({
    ...viewRegistrySkill(row, installed.get(row.skill_id)),
    metric: metricOf(order, row),
    ...(firstRank !== undefined && { rank: firstRank + index }),
  }))
}

/** What the caller's organization calls its installations of these; of an unknown caller nothing is read. */
export async function installedNames(
  sql: Queryable,
  principal: Principal | undefined,
  rows: readonly RegistrySkillRow[],
): Promise<ReadonlyMap<string, string>> {
  if (!principal) return new Map()
  const ids = rows.map(({ skill_id }) => skill_id)
  return findInstalledNames(sql, principal.orgId, ids)
}
