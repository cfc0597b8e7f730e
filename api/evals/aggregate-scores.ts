import Joi from 'joi'
import { VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { sourceOf } from '../../jobs/rules/evals/score.ts'
import { summarize } from '../../jobs/rules/evals/score-summary.ts'
import { listOf, oneOf, shape, text, time } from '../../jobs/shape.ts'
import { areCellsDirty, GROUPS, listCellGroups, MAX_CLUSTERS } from '../../sql/evals/cell-groups.ts'
import type { CellGroup } from '../../sql/evals/cell-groups.ts'
import { endpoint } from '../endpoint.ts'
import { agentQuery, errorBody, nullable, projectField, times } from '../fields.ts'
import { readableProjects } from '../projects.ts'
import { SOURCE_WORDS } from './score.ts'

const MAX_GROUPS = 5000
const words = Object.keys(GROUPS) as (keyof typeof GROUPS)[]
const WORDS = new RegExp(`^(${words.join('|')})(,(${words.join('|')}))*$`)
const number = () => Joi.number().required()

const groupBody = Joi.object({
  key: Joi.object()
    .unknown(true)
    .required()
    .description('The members grouped by; manifest is manifest_id and manifest_hash'),
  count: Joi.number().integer().required(),
  passed: Joi.number().integer().required(),
  pass_rate: number(),
  mean: number(),
  stddev: nullable(number()).description('Of the sample; null for one score'),
  ci95_low: nullable(number()).description(
    `Interval that aims to hold the mean in 95 of 100 cases: t distribution, variance robust to what was measured together (task, else session, else trace; where all is of one task, session, else trace). Simulated, it holds the mean in 91 to 95 cases for scores of a judge, and in 86 to 93 for pass or fail scores of 8 to 30 of these. May lie outside 0 to 1; null with fewer than 3 of these, where it would have no width, where scores of several names mix, and where the sessions and tasks of the asked groups come to more than ${MAX_CLUSTERS} sums: narrow the time, or the name`,
  ),
  ci95_high: nullable(number()),
  p10: number().description('Percentiles are interpolated in 20 bins'),
  p50: number(),
  p90: number(),
  min: number(),
  max: number(),
}).label('ScoreGroup')

export const aggregateScores = endpoint('GET', '/eval-scores/aggregate', {
  summary: 'Aggregate scores',
  description:
    'Scores of traces that have a verdict. Averages are rounded to six digits. Read from sums a day that workers keep: since and until count whole days of UTC, both included. `stale` tells that traces were judged or scores have changed which the answer does not show yet. What was judged for the first time is added within seconds; after other changes a day of many scores is summed up anew at most every half minute.',
  access: 'key',
  aggregates: true,
  query: shape(
    {},
    {
      ...agentQuery,
      name: text(),
      source: text().description(SOURCE_WORDS),
      verdict: oneOf(...VERDICTS),
      group_by: Joi.array<string[]>()
        .items(Joi.string().pattern(WORDS, `words of ${words.join(', ')}`))
        .single()
        .description(`Any of ${words.join(', ')}, comma-separated or repeated`),
      since: time(),
      until: time(),
      project: projectField,
    },
  ),
  answers: {
    200: Joi.object({
      groups: listOf(groupBody).required(),
      groups_truncated: Joi.boolean().required().description(`More than ${MAX_GROUPS} groups`),
      computed_at: nullable(times).description(
        'When the newest of the sums was made; traces judged since then are added to it',
      ),
      stale: Joi.boolean().required(),
    }).label('ScoreAggregate'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const filter = {
      projectIds: await readableProjects(sql, principal, query.project),
      agentName: query.agent_name,
      manifestId: query.manifest_id,
      manifestHash: query.manifest_hash,
      name: query.name,
      source: sourceOf(query.source ?? null) ?? undefined,
      verdict: query.verdict,
      since: query.since,
      until: query.until,
    }
    const asked = (query.group_by ?? []).flatMap((list) => list.split(','))
    const groupBy = words.filter((word) => asked.includes(word))
    const [rows, stale] = await Promise.all([
      listCellGroups(sql, principal.orgId, filter, groupBy, MAX_GROUPS + 1),
      areCellsDirty(sql, principal.orgId, filter),
    ])
    const computed = rows.map(({ computed_at }) => computed_at.getTime())
    return {
      groups: rows
        .slice(0, MAX_GROUPS)
        .map((row) => ({ key: keyOf(row, groupBy), ...summarize(row) })),
      groups_truncated: rows.length > MAX_GROUPS,
      computed_at: computed.length > 0 ? new Date(Math.max(...computed)) : null,
      stale,
    }
  },
})

/** Clients see null where a cell has ''. */
function keyOf(row: CellGroup, groupBy: readonly (keyof typeof GROUPS)[]) {
  const columns = groupBy.flatMap((word) => GROUPS[word])
  return Object.fromEntries(columns.map((column) => [column, row[column] || null]))
}
