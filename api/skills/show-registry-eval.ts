import Joi from 'joi'
import { countEvalCases } from '../../jobs/rules/skills/eval-cases.ts'
import { shape } from '../../jobs/shape.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, nullable } from '../fields.ts'
import { versionMembers } from './attachment.ts'
import { findServed, publicPath } from './public-skill.ts'
import { versionField } from './version.ts'

export const showRegistryEval = endpoint('GET', '/registry/skills/{skill_id}/eval', {
  summary: 'Read how a public skill is to be evaluated',
  access: 'public',
  params: publicPath,
  query: shape({}, { version: versionField }),
  answers: {
    200: Joi.object({
      eval_yaml_text: Joi.string().required().description('As its author wrote it'),
      case_count: nullable(Joi.number().integer()).description(
        'Items of its list `cases`; null where it has none',
      ),
      ...versionMembers,
    }).label('RegistryEval'),
    404: errorBody,
  },
  async handle({ context: { sql }, params, query }) {
    const skill = await findServed(sql, params.skill_id, query.version)
    const { eval_yaml: text, version_id, version_number } = skill
    if (text === null) throw notFound('Evaluation')
    return { eval_yaml_text: text, case_count: countEvalCases(text), version_id, version_number }
  },
})
