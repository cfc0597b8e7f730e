import { job } from './job.ts'
import { int, shape, text, time, uuid } from './shape.ts'

/** Measures a candidate manifest against a baseline by the baseline's recorded traces. */
export const checkRegression = job(
  'regression.check',
  shape(
    {
      project_id: uuid(),
      agent_name: text(),
      candidate_manifest_id: uuid(),
      trace_window_days: int(1, 365),
      /** End of the window. */
      until: time(),
    },
    {
      /** None for an agent's first check. */
      baseline_manifest_id: uuid(),
      /** None for a dry run, which is kept nowhere but in the result of the job. */
      check_id: uuid(),
    },
  ),
  {
    policy: 'exclusive',
    retryLimit: 3,
    retryDelaySeconds: 5,
    retryDelayMaxSeconds: 120,
    expireInSeconds: 1800,
    heartbeatSeconds: 30,
  },
)
