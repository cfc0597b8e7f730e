import Joi from 'joi'
import { job } from './job.ts'
import { SLICED_WORK } from './queue-options.ts'
import { tracePosition } from './rules/traces/trace-position.ts'
import { anyText, anyTime, bool, closed, count, int, listOf, shape, uuid } from './shape.ts'

/**
 * Deletes the traces of a filter that came before a time, or counts them. The filter was checked, and what it
 * says of manifests are ids.
 */
export const deleteTraces = job(
  'traces.delete',
  {
    payload: shape(
      {
        /** Those that came then or later stay. */
        created_before: anyTime(),
        /** As of a list of traces. A release that does not know one of its members has to fail, not delete more. */
        filter: closed(
          shape(
            {},
            {
              agent_name: anyText(),
              manifest_id: uuid(),
              manifest_hash: anyText(),
              session_id: anyText(),
              task_id: anyText(),
              parent_trace_id: anyText(),
              status: anyText(),
              source_type: anyText(),
              verdict: anyText(),
              eval_verdict: anyText(),
              tags: listOf(anyText()),
              environment: anyText(),
              user_id: anyText(),
              tool: anyText(),
              min_score: score(),
              max_score: score(),
              since: anyTime(),
              until: anyTime(),
            },
          ),
        ),
      },
      {
        /** Absent for all projects of the organization. */
        project_ids: listOf(uuid()),
        /** Nothing is deleted. */
        dry_run: bool(),
        /** They are deleted because the organization keeps traces for so long. */
        kept_days: int(1, 36_500),
      },
    ),
    checkpoint: shape(
      { matched: count(), deleted: count() },
      {
        /** Matches when it began, where that was counted. */
        total: count(),
        /** Where it is: in this project, behind the trace of this start and id. */
        project_id: uuid(),
        after: tracePosition,
      },
    ),
  },
  SLICED_WORK,
)

function score() {
  return Joi.number().min(0).max(1)
}
