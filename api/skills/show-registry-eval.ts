import Joi from 'joi'
import { countCases } from '../../jobs/rules/skills/eval-cases.ts'
import { int, shape } from '../../jobs/shape.ts'
import { endpoint } from '../endpoint.ts'
import { notFound } from '../errors.ts'
import { errorBody, nullable } from '../fields.ts'
import { versionMembers } from './attachment.ts'
import { registrySkillPath, requirePublicSkill } from './registry-skill.ts'

export const showRegistryEval = endpoint('GET', '/registry/skills/{skill_id}/eval', {
  summary: 'Read how a public skill is to be evaluated',
  access: 'public',
  params: registrySkillPath,
  query: shape({}, { version: int(1, 999_999_999).description('Without it the latest') }),
  answers: {
    200: Joi.object({
      eval_yaml_text: Joi.string().required().description('As its author wrote it'),
      case_count: nullable(Joi.number().integer())
        .required()
        .description('Items of its list `cases`; null where it has none'),
      ...versionMembers,
    }).label('RegistryEval'),
    404: errorBody,
  },
  async handle({ context: { sql }, params, query }) {
    const skill = await requirePublicSkill(sql, params.skill_id, query.version)
    const { eval_yaml: text, version_id, version_number } = skill
    if (text === null) throw notFound('Evaluation')
    return { eval_yaml_text: text, case_count: countCases(text), version_id, version_number }
  },
})
