import Joi from 'joi'
import { REGISTRY_SORTS } from '../../jobs/rules/skills/registry-order.ts'
import type { RegistrySort } from '../../jobs/rules/skills/registry-order.ts'
import { BADGES } from '../../jobs/rules/skills/skill-badge.ts'
import { listOf, oneOf, shape, text } from '../../jobs/shape.ts'
import { countRegistry, listRegistry } from '../../sql/skills/registry.ts'
import { endpoint } from '../endpoint.ts'
import { commaSeparated, cursorQuery, longListMembers } from '../fields.ts'
import { COUNT_LIMIT, decodePlaceCursor, encodePlaceCursor } from '../pagination.ts'
import { tags } from './listing.ts'
import { listedSkillBody, viewListed } from './registry-skill.ts'

const { total, total_is_capped, limit, next_cursor } = longListMembers

/** What forms send of a field that was left empty. */
const NOTHING = [null, '']

export const searchRegistry = endpoint('GET', '/registry/skills', {
  summary: 'Search the public skills',
  description:
    'In the order of `sort`; skills that are equal in it are in the order of their ids, and those without evidence come last. A skill whose name is `q` comes first in every order. recommended, effectiveness and skill_score are the tier and then the score; popular is installs, rating top_rated.',
  access: 'public',
  query: shape(
    {},
    {
      q: text(512)
        .empty(NOTHING)
        .description(
          'Words of the name or the description, as in a search box: quotes, a hyphen before what is not to be found, `or`. A word is found in all its forms',
        ),
      sort: oneOf(...(Object.keys(REGISTRY_SORTS) as RegistrySort[])).default('recommended'),
      category: text(64).empty(NOTHING),
      tags: commaSeparated(tags)
        .empty(NOTHING)
        .description('Separated by commas: skills that have all of them'),
      badge: oneOf(...BADGES).empty(NOTHING),
      view: oneOf('list', 'ranks')
        .default('list')
        .description('ranks: only skills that have what `sort` compares, each with its rank'),
      ...cursorQuery,
    },
  ),
  answers: {
    200: Joi.object({
      items: listOf(listedSkillBody).required(),
      total,
      total_hint: Joi.number()
        .integer()
        .required()
        .description('At least so many: `total`, or where it is null those of this answer'),
      total_is_capped,
      limit,
      next_cursor,
    }).label('RegistryList'),
  },
  async handle({ context: { sql, listCountMs }, principal, query }) {
    const { q, sort, category, badge, view, limit } = query
    const order = REGISTRY_SORTS[sort]
    const ranked = view === 'ranks'
    const filter = {
      query: q,
      category,
      tags: query.tags,
      tier: badge && BADGES.indexOf(badge),
      ranked,
    }
    const after = decodePlaceCursor(query.cursor)
    const [rows, counted] = await Promise.all([
      listRegistry(sql, filter, { order, after, limit: limit + 1 }),
      countRegistry(sql, filter, { order, limit: COUNT_LIMIT + 1, withinMs: listCountMs }),
    ])
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    const rank = after?.rank ?? 0
    const total = counted && Math.min(counted, COUNT_LIMIT)
    return {
      items: await viewListed(sql, principal, shown, {
        order,
        firstRank: ranked ? rank + 1 : undefined,
      }),
      total,
      total_hint: total ?? shown.length,
      ...((counted === null || counted > COUNT_LIMIT) && { total_is_capped: true }),
      limit,
      next_cursor: last && rows.length > limit ? encodePlaceCursor(last, rank + limit) : null,
    }
  },
})
