import Joi from 'joi'
import { EVAL_VERDICTS, VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { SOURCE_TYPES, TRACE_STATUSES } from '../../jobs/rules/traces/trace.ts'
import { int, listOf, oneOf, shape, text, time, uuidReference } from '../../jobs/shape.ts'

/**
 * By what a request chooses traces.
 * @param says what differs between requests about some of its members
 */
export function traceFilters(
  says: Readonly<Record<'agent_name' | 'verdicts' | 'max_rows', string>>,
) {
  return shape(
    {},
    {
      agent_name: text(256).min(1).description(says.agent_name),
      manifest_ids: listOf(uuidReference()).max(100),
      verdicts: listOf(oneOf(...VERDICTS))
        .min(1)
        .max(50)
        .description(says.verdicts),
      eval_verdict: oneOf(...EVAL_VERDICTS, ...VERDICTS).description(
        'What the scores alone say; a word of `verdicts` means that one of those',
      ),
      min_eval_score: Joi.number().min(0).max(1),
      tags: listOf(text(256)).max(50).description('A trace must have all of them'),
      since: time().description('Started at or after'),
      until: time().description('Started before'),
      status: oneOf(...TRACE_STATUSES),
      tool: text(256).min(1).description('A tool that was called'),
      source_type: oneOf(...SOURCE_TYPES),
      max_rows: int(1, 1_000_000_000).description(says.max_rows),
    },
  )
}
