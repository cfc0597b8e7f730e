import Joi from 'joi'
import { CATEGORIES, DATA_TYPES, SOURCE_KINDS, SOURCES } from '../../jobs/rules/evals/score.ts'
import type { ScoreRow } from '../../sql/evals/eval-scores.ts'
import { nullable, times } from '../fields.ts'

const word = (...words: readonly string[]) => Joi.string().valid(...words)

/** How clients name a source. */
export const SOURCE_WORDS = `One of ${SOURCES.join(', ')}; builtin is built_in, other words are external`

/** A score as clients send it; `value` is accepted in place of `score`. */
export const scoreRequest = Joi.object({
  name: Joi.string().max(256).required(),
  score: Joi.alternatives(Joi.number().min(0).max(1), Joi.boolean()).description(
    'From 0 to 1, true or false; may be absent where there is a label',
  ),
  passed: Joi.boolean(),
  label: Joi.string().max(256),
  reason: Joi.string(),
  category: Joi.string()
    .max(256)
    .description(
      'Any word, such as quality:llm_judge or safety. What stands before a colon decides: compatibility is that, all others are quality. Default quality',
    ),
  data_type: word(...DATA_TYPES),
  span_id: Joi.string().max(128),
  identifier: Joi.string()
    .max(128)
    .description('Tells apart several scores of one name and source'),
  source: Joi.string().description(SOURCE_WORDS),
  source_label: Joi.string().max(256),
  evaluator_version: Joi.string().max(256),
  metadata: Joi.object().unknown(true).description('`family` makes judges of one model one vote'),
}).label('ScoreRequest')

export const scoreBody = Joi.object({
  score_id: Joi.string().guid().required(),
  trace_id: Joi.string().required(),
  span_id: nullable(Joi.string()),
  name: Joi.string().required(),
  value: nullable(Joi.number()).description('0 to 1; null for a label or a text'),
  data_type: word(...DATA_TYPES).required(),
  label: nullable(Joi.string()),
  passed: nullable(Joi.boolean()),
  reason: nullable(Joi.string()),
  category: word(...CATEGORIES).required(),
  category_detail: nullable(Joi.string()).description(
    'The category in the words it was sent in; null where they are those of category',
  ),
  source: word(...SOURCES).required(),
  source_kind: word(...SOURCE_KINDS).required(),
  source_label: nullable(Joi.string()),
  evaluator_version: nullable(Joi.string()),
  identifier: nullable(Joi.string()),
  metadata: Joi.object().unknown(true),
  created_at: times.required(),
  updated_at: times.required(),
}).label('Score')

/** A score as clients see it. */
export function viewScore(score: ScoreRow) {
  return { ...score, span_id: score.span_id || null, identifier: score.identifier || null }
}
