import Joi from 'joi'
import { bool, int, listOf, oneOf, shape } from '../../jobs/shape.ts'
import { RecipeError } from '../../jobs/rules/datasets/filters.ts'
import {
  completeRecipe,
  DEDUPES,
  REASONINGS,
  REDACT_WORDS,
  ROW_FORMATS,
  ROW_STYLES,
} from '../../jobs/rules/datasets/recipe.ts'
import type { RecipeRequest } from '../../jobs/rules/datasets/recipe.ts'
import type { DatasetRow } from '../../sql/datasets/datasets.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { errorBody, quotaBody } from '../fields.ts'
import { answerBuild } from './build.ts'
import { datasetPath, findVisibleDataset } from './dataset.ts'
import { traceFilters } from './trace-filters.ts'
import { versionBody } from './version.ts'

const fraction = () => Joi.number().min(0).max(1)

const split = shape({}, { train: fraction(), validation: fraction(), test: fraction() })
  .description('Fractions that add up to 1; default all in train')
  .label('DatasetSplitRequest')

const options = shape(
  {},
  {
    format: oneOf(...ROW_FORMATS),
    rows: oneOf(...ROW_STYLES),
    dedupe: oneOf(...DEDUPES),
    redact: listOf(oneOf(...REDACT_WORDS)).max(REDACT_WORDS.length),
    max_tokens: int(1, 10_000_000).description('Longer rows are left out'),
    max_turns: int(1, 100_000).description('Rows with more turns of the assistant are left out'),
    min_turns: int(1, 100_000).description('Rows with fewer turns of the assistant are left out'),
    include_needs_review: bool(),
    include_corrected: bool(),
    reasoning: oneOf(...REASONINGS).description(
      '`reasoning_content` of messages; default drop, counted in `losses`',
    ),
    length_balance: bool().description(
      'Leave out pairs, at most a tenth, until chosen turns are about as long as rejected ones; default true, dpo only',
    ),
  },
).label('DatasetOptions')

export const buildVersion = endpoint('POST', '/datasets/{dataset_id}/build', {
  summary: 'Build a version of a dataset',
  description:
    'Filters are frozen with the version. Filters that select nothing give a version without rows and the counts of what left the traces out. Traces to repair give rows of type sft where every reason has its patch: failed steps are masked, calls that do not fit the target manifest need a repair applied for it; the others are counted `unrepaired`. A trace and its replay make a pair with the prompt and tools of the replay. Answers 202 when the build takes longer than the client waits (`Prefer: wait=<seconds>`).',
  access: 'key',
  params: datasetPath,
  body: shape(
    {},
    {
      filters: traceFilters({
        agent_name: "Default the dataset's target agent",
        verdicts: 'Default keep for sft, all four for dpo and kto',
        max_rows: 'Of more rows, a fair sample stays',
      }).label('DatasetFilters'),
      split: split,
      seed: int(0, Number.MAX_SAFE_INTEGER).description('Salt of the splits; default 0'),
      options: options,
    },
  )
    .label('DatasetBuildRequest')
    .example({ filters: { min_eval_score: 0.8 }, split: { train: 0.9, validation: 0.1 } }),
  answers: { 201: versionBody, 202: versionBody, 402: quotaBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params, body } = call
    const dataset = await findVisibleDataset(context, principal, params.dataset_id)
    const recipe = readRecipe(dataset, body)
    return answerBuild(call, dataset, recipe)
  },
})

/** @throws ApiError 400 */
function readRecipe({ dataset_type, training_target_agent }: DatasetRow, request: RecipeRequest) {
  try {
    return completeRecipe(dataset_type, training_target_agent, request)
  } catch (error) {
    if (error instanceof RecipeError) throw badRequest(error.message)
    throw error
  }
}
