import Joi from 'joi'
import { round4 } from '../../jobs/rules/core/round.ts'
import {
  compareUses,
  COMPARISON_VERDICTS,
  LEAST_JUDGED,
} from '../../jobs/rules/skills/skill-use.ts'
import type { SkillUse } from '../../jobs/rules/skills/skill-use.ts'
import { bareHash } from '../../jobs/rules/traces/trace.ts'
import { shape, textReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findVersion } from '../../sql/skills/skill-versions.ts'
import type { SkillVersionRow } from '../../sql/skills/skill-versions.ts'
import { measureVersions } from '../../sql/skills/skill-uses.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, nullable } from '../fields.ts'
import { alsoNamed, analyticsQuery, READ, useFields, useFilter, viewUse } from './analytics.ts'
import { findVisibleSkill } from './skill.ts'
import { findVisibleVersion } from './version.ts'

const versionField = (alias: string) =>
  textReference().description(`Number, id, or hash of the body; also as \`${alias}\``)

const usedVersion = Joi.object({
  version_id: Joi.string().guid().required(),
  version_number: Joi.number().integer().required(),
  content_hash: Joi.string().required(),
  ...useFields,
}).label('UsedSkillVersion')

const difference = (description: string) => nullable(Joi.number()).description(description)

export const compareVersions = endpoint('GET', '/skills/analytics/compare', {
  summary: 'Compare how two versions of a skill do in the traces that used them',
  description: `Traces are of a version that name its hash, or none, and started while it was the newest. ${READ}`,
  access: 'key',
  aggregates: true,
  query: alsoNamed(
    shape(
      {
        skill: textReference().description('Name or id; also as `skill_name`'),
        from_version: versionField('baseline_hash'),
        to_version: versionField('candidate_hash'),
      },
      analyticsQuery,
    ),
    {
      skill_name: 'skill',
      baseline_hash: 'from_version',
      candidate_hash: 'to_version',
      window_days: 'days',
    },
  ),
  answers: {
    200: Joi.object({
      skill: Joi.string().required().description('Its name'),
      from: usedVersion.required(),
      to: usedVersion.required(),
      delta: Joi.object({
        pass_rate: difference('to less from; null where one of them has none'),
        avg_quality: difference('Likewise'),
        tokens: difference('Likewise'),
      })
        .required()
        .label('SkillVersionDelta'),
      p_value: difference(
        'Of the pass rates, two-sided, by Welch’s t test; null where the verdict is too_few',
      ),
      verdict: Joi.string()
        .valid(...COMPARISON_VERDICTS)
        .required()
        .description(
          `improved or worse where the p-value is below 0.05; too_few below ${LEAST_JUDGED} judged traces of either`,
        ),
    }).label('SkillComparison'),
    404: errorBody,
  },
  async handle({ context: { sql }, context, principal, query }) {
    const { orgId } = principal
    const skill = await findVisibleSkill(sql, principal, query.skill)
    const from = await findCompared(sql, orgId, skill.id, query.from_version)
    const to = await findCompared(sql, orgId, skill.id, query.to_version)
    const filter = await useFilter(context, principal, query)
    const [before, after] = await measureVersions(sql, filter, skill, [from.id, to.id])
    if (!before || !after) throw notFound('Version')
    const { p_value, verdict, ...delta } = compareUses(before, after)
    return {
      skill: skill.name,
      from: viewVersionUse(from, before),
      to: viewVersionUse(to, after),
      delta: {
        pass_rate: round4(delta.pass_rate),
        avg_quality: round4(delta.quality),
        tokens: round4(delta.tokens),
      },
      p_value: round4(p_value),
      verdict,
    }
  },
})

/** @throws ApiError 404 */
async function findCompared(sql: Queryable, orgId: string, skillId: string, reference: string) {
  const hash = bareHash(reference)
  if (hash.length !== 64) return findVisibleVersion(sql, orgId, skillId, reference)
  const version = await findVersion(sql, orgId, skillId, { bodySha256: Buffer.from(hash, 'hex') })
  if (!version) throw notFound('Version')
  return version
}

function viewVersionUse({ id, version_number, body_sha256 }: SkillVersionRow, use: SkillUse) {
  return {
    version_id: id,
    version_number,
    content_hash: body_sha256.toString('hex'),
    ...viewUse(use),
  }
}
