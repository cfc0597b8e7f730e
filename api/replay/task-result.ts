import Joi from 'joi'
import { BASES } from '../../jobs/rules/replay/comparison.ts'
import { EVAL_VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { TASK_STATUSES } from '../../sql/replay/replay-tasks.ts'
import type { TaskResult } from '../../sql/replay/submitted-tasks.ts'
import { ApiError } from '../errors.ts'
import { errorBody, nullable } from '../fields.ts'

export const comparisonBody = Joi.object({
  outcome: Joi.string()
    .valid('win', 'loss', 'tie')
    .required()
    .description(
      'Of the replay: a score at least .05 above or below that of the original decides. A failed replay of a successful original is a loss',
    ),
  basis: nullable(Joi.string().valid(...BASES)).description(
    'common_scores: evaluators that scored both runs. given_score: the eval_score submitted, against the quality of the original. builtins: the built-in evaluators. Null where the replay failed',
  ),
  score_delta: nullable(Joi.number()).description('Replay less original'),
  final_output_changed: nullable(Joi.boolean()).description(
    'The answers are less than 98 % alike; null without a stored replay',
  ),
  tool_path_changed: nullable(Joi.boolean()).description(
    'Other tools were called, or in another order',
  ),
  latency_delta_ms: nullable(Joi.number()).description(
    'From start to end; null where one of the runs does not tell',
  ),
  cost_delta_usd: nullable(Joi.number()),
}).label('ReplayComparison')

const resultFields = {
  task_id: Joi.string().guid().required(),
  status: Joi.string()
    .valid(...TASK_STATUSES)
    .required(),
  replayed_trace_id: nullable(Joi.string()),
  eval_score: nullable(Joi.number()).description(
    'The one submitted, else the quality of the replay',
  ),
  eval_verdict: nullable(Joi.string().valid(...EVAL_VERDICTS)),
  comparison: nullable(comparisonBody).description(
    'Null until the task ends, and where the original is gone',
  ),
}

export const taskResultBody = Joi.object(resultFields).label('ReplayTaskResult')

/** 409: the lease does not hold, or the task has ended, which says how in `detail`. */
export const taskConflictBody = errorBody
  .keys({
    detail: Joi.alternatives(
      Joi.string(),
      Joi.object({
        message: Joi.string().required(),
        resource: Joi.object({
          type: Joi.string().valid('replay_task').required(),
          id: Joi.string().guid().required(),
          name: Joi.string().required().description('The same as `id`'),
          ...resultFields,
        })
          .required()
          .label('EndedReplayTask'),
      }).label('ReplayTaskConflictDetail'),
    )
      .required()
      .description('With code task_ended an object, which has the stored result'),
    code: Joi.string()
      .required()
      .description('lease_lost, leased, task_ended, trace_exists or one of the Idempotency-Key'),
  })
  .label('ReplayTaskConflict')

/** 409 whose `detail` has the result that is stored. */
export function taskEnded(result: TaskResult) {
  const message = `The task has ended: ${result.status}`
  const { task_id: id } = result
  const resource = { type: 'replay_task', id, name: id, ...result }
  return new ApiError(409, 'task_ended', message, { members: { detail: { message, resource } } })
}
