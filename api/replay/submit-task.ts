import Joi from 'joi'
import { readSubmission, SUBMITTED_STATUSES } from '../../jobs/rules/replay/submission.ts'
import type { Submission } from '../../jobs/rules/replay/submission.ts'
import { listOf } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { submitReplay } from '../../sql/transactions/submit-replay.ts'
import type { SubmitOutcome } from '../../sql/transactions/submit-replay.ts'
import { endpoint } from '../endpoint.ts'
import type { CheckedBody } from '../endpoint.ts'
import { ApiError, badRequest, notFound } from '../errors.ts'
import { errorBody, EXAMPLE_ID, quotaBody } from '../fields.ts'
import { openTurns } from '../in-turns.ts'
import { quotaExceeded } from '../quota.ts'
import { MAX_BODY_BYTES } from '../read-body.ts'
import { traceRequest, warningFields } from '../traces/trace-body.ts'
import { leaseLost } from './lease.ts'
import { findVisibleTask, taskPath } from './task.ts'
import { taskConflictBody, taskEnded, taskResultBody } from './task-result.ts'

const body: CheckedBody<Submission> = {
  documented: Joi.object({
    status: Joi.string()
      .valid(...SUBMITTED_STATUSES)
      .required()
      .description(
        'completed needs one of trace, replayed_trace_id and eval_score; the others take none of them',
      ),
    lease_token: Joi.string()
      .allow(null)
      .description('Without it the result is taken while nobody holds the task'),
    trace: traceRequest,
    replayed_trace_id: Joi.string()
      .max(128)
      .allow(null)
      .description(
        'The run, when it was stored before, in place of `trace`; it is marked as a replay',
      ),
    eval_score: Joi.number()
      .min(0)
      .max(1)
      .allow(null)
      .description('Of a completed run: stored with it as the score replay_score'),
    eval_verdict: Joi.string()
      .max(256)
      .allow(null)
      .description(
        'pass or keep, fail or drop; every other word stands for review. Default by the score',
      ),
    error: Joi.string()
      .allow(null)
      .description('Why it failed or was skipped; 4,000 characters are kept'),
    retry: Joi.boolean()
      .allow(null)
      .description('Of a failed task: it is given out again while attempts are left'),
  })
    .label('ReplaySubmission')
    .example({ status: 'completed', lease_token: EXAMPLE_ID, eval_score: 0.9 }),
  maxBytes: MAX_BODY_BYTES,
  async read(value, { now }) {
    const result = await readSubmission(value, now, openTurns())
    if ('value' in result) return result
    const inBody = (field: string) => (field === 'body' ? field : `body.${field}`)
    return { faults: result.faults.map((fault) => ({ ...fault, field: inBody(fault.field) })) }
  },
}

export const submitReplayTask = endpoint('POST', '/replay/tasks/{task_id}/submit', {
  summary: 'Submit the result of a replay task',
  description:
    'The run comes as `trace`, which is stored and counted as POST /traces does, with source_type replayed; it finishes a trace of its id that is running. The trace, its judgement, the comparison with the original and the end of the task are one. Safe to repeat: the same result again, whatever lease it comes with, answers as before. A run that failed may be kept: submit it as completed, with a trace of status error; it is a loss.',
  access: 'key',
  params: taskPath,
  body,
  answers: {
    200: taskResultBody
      .keys({
        warnings: listOf(Joi.object(warningFields).label('TraceWarning')).description(
          'What of the trace could not be stored as it was sent',
        ),
      })
      .label('SubmittedReplay'),
    402: quotaBody,
    404: errorBody,
    409: taskConflictBody,
  },
  async handle({ context, principal, params, body }) {
    const { id } = await findVisibleTask(context, principal, params.task_id)
    const { sql, queue, quotas, now, contentForm } = context
    const charge = { orgId: principal.orgId, quotas, at: now(), contentForm }
    const outcome = await queue.transaction(sql, (tx: Transaction) =>
      submitReplay(tx, queue, charge, id, body),
    )
    return answer(outcome, charge.at)
  },
})

function answer(outcome: SubmitOutcome, at: Date) {
  switch (outcome.kind) {
    case 'stored':
      return {
        ...outcome.result,
        ...(outcome.warnings.length > 0 && { warnings: outcome.warnings }),
      }
    case 'repeated':
      return outcome.result
    case 'task_ended':
      throw taskEnded(outcome.result)
    case 'lease_lost':
      throw leaseLost()
    case 'leased':
      throw new ApiError(409, 'leased', 'Another worker holds the task')
    case 'trace_exists': {
      const detail = `The project has a trace ${outcome.trace_id}: submit it as replayed_trace_id`
      throw new ApiError(409, 'trace_exists', detail)
    }
    case 'invalid':
      throw badRequest(outcome.message)
    case 'unknown_trace':
      throw notFound('Trace')
    case 'unknown_task':
      throw notFound('Replay task')
    case 'over_quota':
      throw quotaExceeded({ metric: 'traces_ingested', asked: 1, ...outcome }, at)
  }
}
