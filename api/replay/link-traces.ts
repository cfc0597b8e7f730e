import Joi from 'joi'
import { EVAL_VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { shape, textReference } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { linkReplay } from '../../sql/transactions/link-replay.ts'
import type { LinkOutcome } from '../../sql/transactions/link-replay.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest, notFound } from '../errors.ts'
import { errorBody, nullable, projectField, projectQuery } from '../fields.ts'
import { findVisibleTrace } from '../traces/trace.ts'

export const linkReplayTraces = endpoint('POST', '/replay/link', {
  summary: 'Say that a stored trace is the replay of another',
  description:
    'The replay is marked as one, judged and compared with the original: both are of one agent and project. The pair is kept as a completed task of the batch of links of the agent. Safe to repeat: the same pair answers as before.',
  access: 'key',
  query: projectQuery,
  body: shape(
    { original_trace_id: textReference(), replayed_trace_id: textReference() },
    { project: projectField },
  )
    .label('ReplayLink')
    .example({ original_trace_id: 'run-1', replayed_trace_id: 'run-1-again' }),
  answers: {
    200: Joi.object({
      task_id: Joi.string().guid().required(),
      batch_id: Joi.string().guid().required(),
      eval_score: nullable(Joi.number()).description('Quality of the replay'),
      eval_verdict: nullable(Joi.string().valid(...EVAL_VERDICTS)),
    }).label('LinkedReplay'),
    404: errorBody,
  },
  async handle({ context, principal, query, body }) {
    const { sql, queue } = context
    const { original_trace_id, replayed_trace_id } = body
    const original = await findVisibleTrace(sql, principal, original_trace_id, query.project)
    const { org_id, project_id } = original
    const pair = { org_id, project_id, original_trace_id, replayed_trace_id }
    // Thrown inside, a refusal leaves no empty batch.
    return queue.transaction(sql, async (tx: Transaction) =>
      answer(await linkReplay(tx, queue, pair, principal.keyId)),
    )
  },
})

function answer(outcome: LinkOutcome) {
  switch (outcome.kind) {
    case 'linked':
      return outcome.result
    case 'invalid':
      throw badRequest(outcome.message)
    case 'unknown_trace':
      throw notFound('Trace')
  }
}
