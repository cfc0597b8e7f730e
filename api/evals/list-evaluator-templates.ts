import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import { endpoint } from '../endpoint.ts'

const templates = [
  {
    type: 'json_valid',
    category: 'output',
    description: 'The final output is JSON',
    config: {},
  },
  {
    type: 'contains',
    category: 'output',
    description: 'The final output has a text',
    config: { text: 'thank you', case_sensitive: false },
  },
  {
    type: 'regex',
    category: 'output',
    description:
      'The final output has a match of a pattern in the syntax of RE2; not applicable where the output is too long for the pattern',
    config: { pattern: '(?i)order #?\\d+' },
  },
  {
    type: 'max_cost',
    category: 'budget',
    description:
      'The run costs at most so many US dollars; not applicable where the cost is unknown',
    config: { usd: 0.1 },
  },
  {
    type: 'max_steps',
    category: 'budget',
    description: 'The run takes at most so many LLM calls',
    config: { steps: 10 },
  },
]

export const listEvaluatorTemplates = endpoint('GET', '/evaluators/templates', {
  summary: 'List the types of checks that can be added, each with an example of its config',
  access: 'key',
  answers: {
    200: Joi.object({
      templates: listOf(
        Joi.object({
          type: Joi.string().required(),
          category: Joi.string().required(),
          description: Joi.string().required(),
          config: Joi.object().unknown(true).required(),
        }).label('EvaluatorTemplate'),
      ).required(),
      categories: Joi.object()
        .pattern(Joi.string(), listOf(Joi.string()))
        .required()
        .description('Types by category'),
    }).label('EvaluatorTemplates'),
  },
  async handle() {
    const byCategory = Map.groupBy(templates, ({ category }) => category)
    const categories = [...byCategory].map(
      ([name, group]) => [name, group.map(({ type }) => type)] as const,
    )
    return { templates, categories: Object.fromEntries(categories) }
  },
})
