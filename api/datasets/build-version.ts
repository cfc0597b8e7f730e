import Joi from 'joi'
import { bool, int, listOf, oneOf, shape } from '../../jobs/shape.ts'
import { RecipeError } from '../../jobs/rules/datasets/filters.ts'
import {
  completeRecipe,
  DEDUPES,
  REASONINGS,
  ROW_FORMATS,
  ROW_STYLES,
} from '../../jobs/rules/datasets/recipe.ts'
import type { RecipeRequest } from '../../jobs/rules/datasets/recipe.ts'
import { REDACT_WORDS } from '../../jobs/rules/datasets/redaction.ts'
import type { RedactionSettings } from '../../jobs/rules/datasets/redaction.ts'
import type { DatasetRow } from '../../sql/datasets/datasets.ts'
import { findRedactionSettings } from '../../sql/datasets/redaction-settings.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { errorBody, quotaBody, waitHeaders } from '../fields.ts'
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
    dedupe: oneOf(...DEDUPES).description(
      'Default exact: of rows with the same text the best one stays. near: so it is with rows that share about four fifths of their runs of five words (of scripts without blanks, letters), and rows of the version before stay first. Unless none, a row near to a better one of another split is left out',
    ),
    redact: listOf(oneOf(...REDACT_WORDS))
      .max(REDACT_WORDS.length)
      .description(
        'Takes values of these classes out of contents and arguments: `[EMAIL_1]` is the first e-mail address of a row. `default`: all but ssn_us and custom; `custom`: the patterns of `PUT /redaction-settings`. Tools, names and provenance (ids of tasks and sessions) stay as they are',
      ),
    max_tokens: int(1, 10_000_000).description('Longer rows are left out'),
    max_turns: int(1, 100_000).description(
      'Rows that train more turns of the assistant are left out, counted `too_many_turns`. Turns with weight 1 count: of a kto row those of its completion; a pair and a row of a call train one',
    ),
    min_turns: int(1, 100_000).description(
      'Rows that train fewer turns of the assistant are left out, counted `too_few_turns`',
    ),
    include_needs_review: bool(),
    include_corrected: bool().description(
      'Corrected outputs take the place of what the traces said, and `min_eval_score` and `eval_verdict` do not apply to corrected traces; default true, not for kto',
    ),
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
    'Filters are frozen with the version. Filters that select nothing give a version without rows and the counts of what left the traces out. Traces to repair give rows of type sft where every reason has its patch: failed steps are masked, a corrected output takes the place of the one that was bad, calls that do not fit the target manifest need a repair applied for it; the others are counted `unrepaired`. A trace and its replay make a pair with the prompt and tools of the replay. Answers 202 when the build takes longer than the client waits (`Prefer: wait=<seconds>`).',
  access: 'key',
  params: datasetPath,
  body: shape(
    {},
    {
      filters: traceFilters({
        agent_name: "Default the dataset's target agent",
        verdicts: 'Default keep and repair for sft, all four for dpo and kto',
        max_rows: 'Of more rows, a fair sample stays',
      }).label('DatasetFilters'),
      split: split,
      seed: int(0, Number.MAX_SAFE_INTEGER).description('Salt of the splits; default 0'),
      options: options,
    },
  )
    .label('DatasetBuildRequest')
    .example({ filters: { min_eval_score: 0.8 }, split: { train: 0.9, validation: 0.1 } }),
  headers: waitHeaders,
  answers: { 201: versionBody, 202: versionBody, 402: quotaBody, 404: errorBody },
  async handle(call) {
    const { context, principal, params, body } = call
    const dataset = await findVisibleDataset(context, principal, params.dataset_id)
    const { orgId } = principal
    const settings = await findRedactionSettings(context.sql, orgId, dataset.project_id)
    return answerBuild(call, dataset, readRecipe(dataset, body, settings))
  },
})

/** @throws ApiError 400 */
function readRecipe(
  { dataset_type, training_target_agent }: DatasetRow,
  request: RecipeRequest,
  settings: RedactionSettings,
) {
  try {
    return completeRecipe(dataset_type, training_target_agent, request, settings)
  } catch (error) {
    if (error instanceof RecipeError) throw badRequest(error.message)
    throw error
  }
}
