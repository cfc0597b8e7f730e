import { BUILT_INS } from '../../jobs/rules/evals/evaluators.ts'

/**
 * The checks that can be added. `config` holds unless a client gives another; null where only the client
 * can know what to look for, and must give one like `example_config`.
 */
export const TEMPLATES = [
  {
    type: 'json_valid',
    category: 'output',
    description: 'The final output is JSON',
    config: {},
    example_config: {},
  },
  {
    type: 'contains',
    category: 'output',
    description: 'The final output has a text',
    config: null,
    example_config: { text: 'thank you', case_sensitive: false },
  },
  {
    type: 'regex',
    category: 'output',
    description:
      'The final output has a match of a pattern in the syntax of RE2; not applicable where the output is too long for the pattern',
    config: null,
    example_config: { pattern: '(?i)order #?\\d+' },
  },
  {
    type: 'max_cost',
    category: 'budget',
    description:
      'The run costs at most so many US dollars; not applicable where the cost is unknown',
    config: { usd: 0.1 },
    example_config: { usd: 0.1 },
  },
  {
    type: 'max_steps',
    category: 'budget',
    description: 'The run takes at most so many LLM calls',
    config: { steps: 10 },
    example_config: { steps: 10 },
  },
] as const

/** What an evaluator of ours measures. @param type of a check; null for one that is always on */
export function describeEvaluator(name: string, type: string | null) {
  const found =
    type === null
      ? BUILT_INS.find((builtIn) => builtIn.name === name)
      : TEMPLATES.find((template) => template.type === type)
  return found?.description ?? name
}
