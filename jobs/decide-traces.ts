import { job } from './job.ts'
import { int, shape, text, uuid } from './shape.ts'

/**
 * Decides anew on every trace of a manifest, or on every one that a decision policy is for. Ends early
 * when that policy has got another version, whose own job decides on the same traces.
 */
export const decideTraces = job(
  'evals.decide',
  shape(
    { project_id: uuid() },
    {
      manifest_id: uuid(),
      /** `agent_name` is '' for the project's own policy. */
      policy: shape({ agent_name: text().allow(''), version: int(1, 2_147_483_647) }),
    },
  ).xor('manifest_id', 'policy'),
  {
    policy: 'exclusive',
    retryLimit: 5,
    retryDelaySeconds: 2,
    retryDelayMaxSeconds: 120,
    expireInSeconds: 3600,
    heartbeatSeconds: 20,
  },
)
