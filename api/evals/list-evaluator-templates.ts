import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import { endpoint } from '../endpoint.ts'
import { nullable } from '../fields.ts'
import { TEMPLATES } from './evaluator-template.ts'

export const listEvaluatorTemplates = endpoint('GET', '/evaluators/templates', {
  summary: 'List the types of checks that can be added, each with an example of its config',
  access: 'key',
  answers: {
    200: Joi.object({
      templates: listOf(
        Joi.object({
          template_id: Joi.string().required(),
          name: Joi.string().required(),
          type: Joi.string().required(),
          eval_type: Joi.string().valid('deterministic').required(),
          category: Joi.string().required(),
          description: Joi.string().required(),
          config: nullable(Joi.object().unknown(true)).description(
            'Holds unless another is given; null where one must be given',
          ),
          example_config: Joi.object().unknown(true).required(),
        }).label('EvaluatorTemplate'),
      ).required(),
      categories: Joi.object()
        .pattern(Joi.string(), listOf(Joi.string()))
        .required()
        .description('Types by category'),
    }).label('EvaluatorTemplates'),
  },
  async handle() {
    const byCategory = Map.groupBy(TEMPLATES, ({ category }) => category)
    const categories = [...byCategory].map(
      ([name, group]) => [name, group.map(({ type }) => type)] as const,
    )
    const templates = TEMPLATES.map((template) => {
      const { type } = template
      return { template_id: type, name: type, eval_type: 'deterministic', ...template }
    })
    return { templates, categories: Object.fromEntries(categories) }
  },
})
