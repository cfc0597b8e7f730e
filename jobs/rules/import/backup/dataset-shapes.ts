import Joi from 'joi'
import { anyText, bool, count, int, listOf, oneOf, recordOf, shape, uuid } from '../../../shape.ts'
import { EVAL_VERDICTS, VERDICTS } from '../../core/verdicts.ts'
import { RARE_MEMBERS } from '../../datasets/formats.ts'
import {
  DATASET_TYPES,
  DEDUPES,
  REASONINGS,
  ROW_FORMATS,
  ROW_STYLES,
  SPLITS,
} from '../../datasets/recipe.ts'
import { REDACTED } from '../../datasets/redaction.ts'
import { MAX_KEPT, MAX_PATTERNS, patternText } from '../../datasets/redaction-shapes.ts'
import { SOURCE_TYPES, TRACE_STATUSES } from '../../traces/trace.ts'
import { countsBy, orNull, share, timeText, warnings } from './json-shapes.ts'

/** Filters as a recipe or a batch of replays keeps them. */
export const storedFilters = shape({
  agent_name: orNull(anyText()),
  manifest_ids: listOf(uuid()).max(100),
  verdicts: listOf(oneOf(...VERDICTS)).max(50),
  eval_verdict: oneOf(...EVAL_VERDICTS, null),
  min_eval_score: orNull(share()),
  tags: listOf(anyText()).max(50),
  since: orNull(timeText()),
  until: orNull(timeText()),
  status: oneOf(...TRACE_STATUSES, null),
  tool: orNull(anyText()),
  source_type: oneOf(...SOURCE_TYPES, null),
  max_rows: orNull(int(1, 1_000_000_000)),
})

const splitOf = <S extends Joi.Schema>(item: S) =>
  shape({ train: item, validation: item, test: item })

const split = () => oneOf(...SPLITS)

/** What `completeStored` takes; earlier releases stored fewer options. */
const storedRecipe = shape(
  {
    dataset_type: oneOf(...DATASET_TYPES),
    filters: storedFilters,
    split: splitOf(share()),
    seed: Joi.number().integer(),
    options: shape(
      {
        format: oneOf(...ROW_FORMATS),
        rows: oneOf(...ROW_STYLES),
        dedupe: oneOf(...DEDUPES),
        max_tokens: orNull(int(1, 10_000_000)),
        include_needs_review: bool(),
        reasoning: oneOf(...REASONINGS),
        length_balance: bool(),
      },
      {
        max_turns: orNull(int(1, 100_000)),
        min_turns: orNull(int(1, 100_000)),
        redact: listOf(oneOf(...REDACTED)).max(REDACTED.length),
        include_corrected: bool(),
      },
    ),
  },
  {
    redaction: orNull(
      shape({
        ruleset: anyText(),
        patterns: listOf(patternText()).max(MAX_PATTERNS),
        keep: listOf(anyText()).max(MAX_KEPT),
      }),
    ),
  },
)

const lengthBins = () => listOf(shape({ from: count(), to: count(), rows: count() })).max(300)

export const versionShapes = {
  recipe: storedRecipe,
  split_counts: splitOf(count()),
  dropped_counts: recordOf(count()),
  policy: shape({
    decision_policies: listOf(shape({ agent_name: anyText(), version: count(), traces: count() })),
  }),
  losses: recordOf(count()),
  warnings: warnings(),
  redaction: shape({ ruleset: anyText(), counts: recordOf(count()), rows: count() }),
  near_duplicates: listOf(
    shape({
      row: shape({ trace_id: anyText(), split: split() }),
      kept: shape({ trace_id: anyText(), split: split(), ordinal: count() }),
      similarity: share(),
    }),
  ).max(1000),
  composition: shape({
    verdicts: recordOf(count()),
    scores: listOf(shape({ name: anyText(), traces: count() })),
    length_ratio: orNull(Joi.number()),
    rare_members: listOf(oneOf(...RARE_MEMBERS)),
  }),
  funnel: shape({ traces: count(), passed: count(), eligible: count(), rows_made: count() }),
  lengths: shape({ tokens: lengthBins(), messages: lengthBins() }),
  /** By the first day of the month. */
  trace_months: countsBy(/^(?!0000)\d{4}-(0[1-9]|1[0-2])-01$/),
}
