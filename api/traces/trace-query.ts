import Joi from 'joi'
import { EVAL_VERDICTS, VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { SOURCE_TYPES, TRACE_STATUSES } from '../../jobs/rules/traces/trace.ts'
import { listOf, oneOf, text, textReference, time } from '../../jobs/shape.ts'
import { agentQuery } from '../fields.ts'

/** What selects traces, besides their words and their project. */
export const filterQuery = {
  ...agentQuery,
  session_id: textReference(),
  task_id: textReference(),
  parent_trace_id: textReference(),
  status: oneOf(...TRACE_STATUSES),
  source_type: oneOf(...SOURCE_TYPES),
  verdict: oneOf(...VERDICTS),
  eval_verdict: oneOf(...EVAL_VERDICTS),
  needs_review: Joi.boolean<true>()
    .valid(true)
    .description('Those whose verdict a person should look at'),
  tag: listOf(text()).single().max(20).description('Repeat it for traces that have all of them'),
  environment: text(),
  user_id: textReference(),
  tool: text().description('A tool that was called'),
  min_score: score(),
  max_score: score(),
  since: time().description('Started at or after'),
  until: time().description('Started before'),
}

function score() {
  return Joi.number().min(0).max(1)
}
