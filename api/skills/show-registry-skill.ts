import Joi from 'joi'
import { BANDS, INVOCATIONS } from '../../jobs/rules/skills/skill.ts'
import { listOf, oneOf } from '../../jobs/shape.ts'
import { findRegistrySkill, listShownVersions } from '../../sql/skills/registry.ts'
import type { ShownBand } from '../../sql/skills/registry.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, nullable, times } from '../fields.ts'
import { publicPath } from './public-skill.ts'
import { installedNames, registrySkillFields, viewRegistrySkill } from './registry-skill.ts'

const band = oneOf(...BANDS).required()

export const showRegistrySkill = endpoint('GET', '/registry/skills/{skill_id}', {
  summary: 'Show a public skill',
  description:
    'In its newest version that is not blocked. A skill that is private, deleted or withheld is not found, like one that never was.',
  access: 'public',
  params: publicPath,
  answers: {
    200: Joi.object({
      ...registrySkillFields,
      latest_version_number: Joi.number().integer().required().description('As version_number'),
      body_markdown: Joi.string().allow('').required(),
      content_hash: Joi.string().required().description('SHA-256 of the body, in hex'),
      invocation: oneOf(...INVOCATIONS).required(),
      frontmatter: Joi.object().unknown(true).required().description('Without private keys'),
      attachment_count: Joi.number().integer().required(),
      safety_status: band.description('As skill_safety'),
      content_status: band.description('The same: the scan is of the content'),
      intent_status: Joi.string()
        .valid('not_reviewed')
        .required()
        .description('No model is called here'),
      safety: Joi.object({
        summary: Joi.string().required().description('For people'),
        reason_codes: listOf(Joi.string()).required(),
      })
        .required()
        .label('RegistrySafety'),
      versions: listOf(
        Joi.object({
          version_id: Joi.string().guid().required(),
          version_number: Joi.number().integer().required(),
          content_hash: Joi.string().required(),
          change_summary: nullable(Joi.string()),
          published_at: times.required(),
        }).label('RegistryVersion'),
      )
        .required()
        .description('The newest hundred, newest first'),
      verification_history: listOf(
        Joi.object({
          version_number: Joi.number().integer().required(),
          safety_status: band,
          reason_codes: listOf(Joi.string()).required(),
        }).label('RegistryVerification'),
      )
        .required()
        .description('What is said now of the safety of these versions'),
      source_type: Joi.string().valid('organization').required().description('Who published it'),
      source_url: nullable(Joi.string()).description('Always null: skills are published from here'),
    }).label('RegistrySkill'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params }) {
    const skill = await findRegistrySkill(sql, params.skill_id)
    if (!skill) throw notFound('Skill')
    const versions = await listShownVersions(sql, skill.skill_id, MAX_VERSIONS)
    const installed = await installedNames(sql, principal, [skill])
    const { band, reason_codes } = skill
    return {
      ...viewRegistrySkill(skill, installed.get(skill.skill_id)),
      latest_version_number: skill.version_number,
      body_markdown: skill.body,
      content_hash: skill.body_sha256.toString('hex'),
      invocation: skill.invocation,
      frontmatter: skill.frontmatter,
      attachment_count: skill.file_count,
      safety_status: band,
      content_status: band,
      intent_status: 'not_reviewed',
      safety: { summary: SUMMARIES[band], reason_codes },
      versions: versions.map(({ body_sha256, band: _, reason_codes: __, ...version }) => ({
        ...version,
        content_hash: body_sha256.toString('hex'),
      })),
      verification_history: versions.map(({ version_number, band, reason_codes }) => ({
        version_number,
        safety_status: band,
        reason_codes,
      })),
      source_type: 'organization',
      source_url: null,
    }
  },
})

const MAX_VERSIONS = 100

const SUMMARIES: Readonly<Record<ShownBand, string>> = {
  passed: 'Nothing was found that would harm who installs it.',
  caution: 'Something was found that should be looked at before it is installed.',
  unreviewed: 'Its safety was not looked at yet.',
}
