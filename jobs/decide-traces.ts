import { job } from './job.ts'
import { anyText, count, int, recordOf, shape, text, uuid } from './shape.ts'
import { SECONDS_OF_WORK } from './queue-options.ts'

/**
 * Decides anew on every trace of a manifest, or on every one that a decision policy is for. Ends early
 * when that policy has got another version, whose own job decides on the same traces.
 */
export const decideTraces = job(
  'evals.decide',
  {
    payload: shape(
      { project_id: uuid() },
      {
        manifest_id: uuid(),
        /** `agent_name` is '' for the project's own policy. */
        policy: shape({ agent_name: text().allow(''), version: int(1, 2_147_483_647) }),
      },
    ).xor('manifest_id', 'policy'),
    checkpoint: shape({
      /** The last trace that was decided on. */
      after: anyText(),
      /** Traces that were come to, and those of them that were decided on: not those that still run. */
      seen: count(),
      total: count(),
      verdict_counts: recordOf(count()),
    }),
  },
  { ...SECONDS_OF_WORK, policy: 'exclusive', expireInSeconds: 3600 },
)
